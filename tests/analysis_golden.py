"""A trial small enough to be counted by hand, recorded by the real recorder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from emulator.contract.identifiers import hash_of_peer
from emulator.contract.protocol import Component, Event, Installation, Lookup, Outcome
from emulator.experiment.plan.tables import PEERS, SESSIONS, Plan
from emulator.experiment.run.directory import RunDirectory, TrialDirectory
from emulator.experiment.run.telemetry_totals import Written
from emulator.messages import message
from emulator.messages.message import Message
from emulator.telemetry import names
from emulator.telemetry.context import TraceContext
from emulator.telemetry.recorder import Recorder
from emulator.workload.table_schemas import PUBLICATIONS, SUBSCRIPTIONS

EXPERIMENT = """
name: golden
system: {name: vitis}
peers: 5
workload: {subscriptions: {kind: random, topics: 2, per_peer: 1}}
phases: {join: 10 s, settle: 10 s, measure: 20 s, drain: 10 s}
claims: [V1]
"""
TRIAL = "vitis-1"
START = 1_700_000_000_000_000_000


OVERLAY = "overlay"
"""The channel of the overlay that peers are part of."""
_KINDS = {
    "EventData": message.EVENT,
    "EventDelivery": message.EVENT,
    "Notification": message.NOTIFICATION,
    "Pull": message.NOTIFICATION,
    "ProbePub": message.NOTIFICATION,
    "TManExchange": message.MAINTENANCE,
}
"""The kinds of the messages that are not of kind control."""


class Plain(Message):
    """A message of 10 bytes with a name and a kind alone."""

    SIZE = 10

    def __init__(self, event: int = -1, travelled: int = -1) -> None:
        super().__init__()
        self.event = event
        self.hops = travelled

    def measure(self) -> int:
        return self.SIZE

    def kind(self) -> int:
        return _KINDS.get(self.NAME, message.CONTROL)

    def event_number(self) -> int:
        return self.event

    def travelled(self) -> int:
        return self.hops


class Large(Plain):
    """The same with 100 bytes."""

    SIZE = 100


@cache
def _class_of(name: str, base: type[Plain]) -> type[Plain]:
    return type(name, (base,), {"NAME": name})


class Part(Component):
    """A component that tells a gauge or links of one kind."""

    def __init__(self, gauges: Mapping[str, float], links: Mapping[str, Sequence[int]]) -> None:
        self._gauges = dict(gauges)
        self._links = links

    def start(self, contacts: Sequence[int]) -> None: ...

    def stop(self, graceful: bool) -> None: ...

    def gauges(self) -> dict[str, float]:
        return self._gauges

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return self._links


class Trace:
    """One operation under way; times in seconds."""

    def __init__(self, recorder: Recorder, root: TraceContext, outcome: Callable[[int], Outcome]) -> None:
        self._recorder = recorder
        self._root = root
        self._outcome = outcome

    def hop(
        self,
        name: str,
        sender: int,
        peer: int,
        sent: float,
        handled: float,
        *,
        interested: bool = True,
        hops: int | None = None,
        travelled: int = -1,
        event: int = -1,
        outcome: Outcome | None = None,
        channel: str = "",
        by: Recorder | None = None,
        parent: int | None = None,
    ) -> int:
        """Record a message of 100 bytes, `by` another host where that handled it, and return its span.

        `hops` if it delivered what the trace is for, `outcome` if it delivered something else, else
        `travelled` and `event` if the message tells of them.
        """
        recorder = by or self._recorder
        root = self._root
        context = TraceContext(root.trace_id, recorder.next_span_id(), 1, root.topic, root.event)
        delivered = self._outcome(hops) if hops is not None else outcome
        recorder.hop(
            context,
            root.span_id if parent is None else parent,
            _class_of(name, Large)(event, travelled),
            channel,
            sender,
            peer,
            round(sent * 1e9),
            round(handled * 1e9),
            interested,
            delivered,
        )
        return context.span_id

    def deliver(self, peer: int, at: float, hops: int, outcome: Outcome | None = None) -> None:
        """Record a delivery that no message's span tells of; of what the trace is for, or of `outcome`."""
        self._recorder.delivery(self._root, peer, round(at * 1e9), outcome or self._outcome(hops))


class Host:
    """Records what happens on one host."""

    def __init__(
        self, directory: Path, host: str = "virtual", trial: str = TRIAL, seed: int = 1, incarnation: int = 0
    ) -> None:
        self.recorder = Recorder(
            directory,
            host,
            experiment="golden",
            trial=trial,
            seed=seed,
            start_unix_ns=START,
            incarnation=incarnation,
        )

    def join(self, peer: int, at: float, identifier: int | None = None, space: str = "ring") -> None:
        """Start the peer, which takes the hash of its number if no identifier is given."""
        self.operate("join", peer, at, {names.SESSION: 0})
        self.take(peer, at, hash_of_peer(peer) if identifier is None else identifier, space)

    def take(
        self, peer: int, at: float, identifier: int, space: str = "ring", channel: str = OVERLAY
    ) -> None:
        """Have the peer take an identifier."""
        self.recorder.take_identifier(peer, channel, round(at * 1e9), identifier, space)

    def crash(self, peer: int, at: float, graceful: bool = False) -> None:
        attributes = {names.SESSION: 0, names.GRACEFUL: graceful}
        self.operate("leave", peer, at, attributes)

    def publish(self, event: int, peer: int, at: float, topic: int = 0) -> Trace:
        attributes = {names.EVENT: event, names.INTERESTED: True}
        return self.operate("publish", peer, at, attributes, topic)

    def recover(self, peer: int, at: float, topic: int | None = None) -> Trace:
        """Begin to send messages about an event outside of any operation."""
        return self.operate(names.RECOVERY, peer, at, {}, topic)

    def deliver(self, peer: int, at: float, outcome: Outcome) -> None:
        """Record a delivery in no operation."""
        self.recorder.delivery(None, peer, round(at * 1e9), outcome)

    def maintain(self, peer: int, messages: int, channel: str = OVERLAY) -> None:
        """Send messages of 10 bytes."""
        tallies = self.recorder.tallies
        tally = tallies.on(channel).tally(_class_of("TManExchange", Plain)(), traced=False)
        tally.add(tallies.place(peer), messages, messages * Plain.SIZE)

    def operate(
        self,
        operation: str,
        peer: int,
        at: float,
        attributes: Mapping[str, int],
        topic: int | None = None,
    ) -> Trace:
        """Begin an operation."""

        def outcome(hops: int) -> Outcome:
            if names.EVENT in attributes:
                return Event(attributes[names.EVENT], peer, topic, hops=hops)
            if names.LOOKUP in attributes:
                return Lookup(attributes[names.LOOKUP], peer, 0, hops)
            return Installation(peer, hops)

        context = self.recorder.begin(topic, attributes.get(names.EVENT, -1))
        self.recorder.operation(context, operation, peer, round(at * 1e9), attributes)
        return Trace(self.recorder, context, outcome)

    def interval(self, at: float, peers_up: int = 5) -> None:
        self.recorder.write_interval(round(at * 1e9), peers_up, 0)

    def snapshot(
        self,
        at: float,
        links: Mapping[int, Sequence[int]],
        kind: str = "friend",
        channel: str = OVERLAY,
    ) -> None:
        """Tell the links that peers have on a channel, and a gauge of each peer as a whole."""
        whole = Part({"gateway_topics": 1.0}, {})
        peers = [(peer, [(channel, Part({}, {kind: others})), ("", whole)]) for peer, others in links.items()]
        assert list(self.recorder.write_snapshot(round(at * 1e9), peers))


def table(schema: pa.Schema, *rows: tuple[Any, ...]) -> pa.Table:
    """Return rows of a plan; columns that a row leaves out at its end are null."""
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=False)) for row in rows], schema)


def peers_of_plan(count: int, roles: Mapping[int, str] | None = None) -> pa.Table:
    """Return the plan's peers, all at one place."""
    return table(PEERS, *((peer, 0, (roles or {}).get(peer, "peer")) for peer in range(count)))


def write_plan(trial: TrialDirectory) -> None:
    """Write a plan of five peers: 0, 1, 3 and 4 subscribe to topic 0, 2 to topic 1; 3 comes late, 4
    crashes at 32 s."""
    sessions = [(0, 1.0, 50.0), (1, 1.0, 50.0), (2, 1.0, 50.0), (3, 15.0, 50.0), (4, 1.0, 32.0)]
    Plan(
        peers=peers_of_plan(5),
        sessions=table(SESSIONS, *((p, 0, start, end, False, "base") for p, start, end in sessions)),
        subscriptions=table(
            SUBSCRIPTIONS, *((peer, peer, int(peer == 2), 1.0, None, 0.0, 50.0) for peer in range(5))
        ),
        publications=table(PUBLICATIONS, (0, 21.0, 0, 0, None, 64), (1, 30.0, 1, 0, None, 64)),
    ).write(trial.plan)


def write_outcome(
    trial: TrialDirectory,
    hosts: Sequence[Mapping[str, Any]],
    valid: bool = True,
    written: Sequence[Written] | None = None,
) -> None:
    """Write fidelity.json and status.json; without `written`, nobody told what it wrote."""
    reasons = [] if valid else ["hosts lost: 1 hosts, limit 0 hosts"]
    fidelity: dict[str, Any] = {"hosts": list(hosts), "valid": valid, "reasons": reasons}
    if written is not None:
        fidelity["written"] = [told._asdict() for told in written]
    trial.fidelity.write_text(json.dumps(fidelity))
    trial.write_status(
        state="valid" if valid else "invalid", reasons=reasons, command="trellis run golden.yaml"
    )


def record_golden(host: Host, host_of_3: Host | None = None) -> None:
    """Record what `golden_run` tells; peer 3 may join on a host of its own."""
    for peer in (0, 1, 2, 4):
        host.join(peer, 1.0)
    (host_of_3 or host).join(3, 15.0)
    for peer in range(5):
        host.maintain(peer, 10)
    host.interval(20.0)
    host.snapshot(20.0, {0: [2], 1: [2], 2: [3], 3: [0], 4: [3]}, kind="successor")
    first = host.publish(0, 0, 21.0)
    first.hop("Notification", 0, 2, 21.0, 21.05, interested=False, travelled=1)
    first.hop("EventData", 0, 2, 21.05, 21.1, interested=False, travelled=1)
    first.hop("EventData", 2, 1, 21.1, 21.2, hops=2)
    first.hop("EventData", 2, 4, 21.1, 21.3, hops=2)
    first.hop("EventData", 4, 3, 21.3, 21.4, hops=3)
    second = host.publish(1, 1, 30.0)
    second.hop("EventData", 1, 0, 30.0, 30.1, hops=1)
    second.hop("EventData", 1, 0, 30.1, 30.2, travelled=3)
    host.crash(4, 32.0)
    for peer in range(4):
        host.maintain(peer, 20)
    host.maintain(4, 6)
    host.interval(40.0)
    host.snapshot(40.0, {0: [1], 1: [], 2: [3], 3: [2]})


def golden_run(folder: Path) -> RunDirectory:
    """Record one trial. The ring is 1, 2, 4, 3, 0; 2 passes 4 over, and 0 passes 1 over.

    Event 0 (21 s, by 0): due to 1 and 4, who get it in 2 hops; not yet to 3, who gets it in 3; 2 relays.
    Event 1 (30 s, by 1): due to 0, who gets it twice, in 1 hop, and to 3, who does not; no longer to 4.
    """
    run = RunDirectory(folder)
    trial = run.trial(TRIAL)
    write_plan(trial)
    run.experiment.write_text(EXPERIMENT)
    host = Host(trial.telemetry)
    record_golden(host)
    host.recorder.close()
    hosts = [{"host": "virtual", "peers": 5, "state": "finished", "lost_at_s": None}]
    write_outcome(trial, hosts, written=[host.recorder.written()])
    return run
