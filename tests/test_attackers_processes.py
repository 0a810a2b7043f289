"""Attackers behave badly in real time as the plan asks: in processes, and in one host over its wire."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from fleet_toys import PATH, Flood, FloodParameters
from gossipsub_peer import TOPIC, message
from realtime_world import LONG, ONE_WAY, Parts, World
from recorded_telemetry import points, read
from small_trial import Outcome, make_plan, run

from emulator.contract.attack import AttackModel
from emulator.contract.identifiers import encode, hash_of_peer
from emulator.contract.protocol import TopicInterest
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.tables import IDENTIFIER
from emulator.experiment.run.directory import TrialDirectory
from emulator.faults.attacks import Delay, Duplication, Garbage, Replay
from emulator.faults.identities import Target, around
from emulator.faults.mesh_attacks import MeshSybil
from emulator.fleet.processes import run_processes
from emulator.messages.catalogue import decode
from emulator.messages.message import Message
from emulator.protocols.pubsub.gossipsub.parameters import GossipSubParameters
from emulator.protocols.pubsub.gossipsub.system import GossipSub
from emulator.runtime.hostile_channel import make_hostile
from emulator.runtime.realtime.session import Session
from emulator.telemetry import names
from trellis.v1.gossipsub import TopicGraft, TopicMessage
from trellis.v1.pubsub import EventData

PEERS, END = 8, 6.0
ATTACKERS = (2, 5)
BEGINS, ENDS = 3.0, 4.5
"""The trial times (s) between which attackers pass on nothing."""
TIMES = [2.0, 2.1, 2.2, 2.3, 2.4, 2.5, 3.2, 3.25, 3.3, 3.35, 3.4, 3.45, 5.0, 5.1, 5.2, 5.3]
"""The trial times (s) of the events; peer `n % PEERS` publishes event n."""
NEAR = around(Target(topic=0), ATTACKERS)
"""The identifiers that the attackers choose."""
OWN = 10
"""The event that the first attacker publishes while it attacks, which goes out."""
MARGIN = 0.2
"""The trial seconds that an attacker may take from having an event to passing it on, on a busy machine."""
Handled = tuple[int, int]
"""(peer, event)"""
SPEC: dict[str, Any] = {
    "system": {"name": "flood"},
    "peers": PEERS,
    "network": {"latency": {"kind": "constant", "rtt": "10 ms"}},
    "workload": {"subscriptions": {"kind": "random", "topics": 1, "per_peer": 1, "buckets": 1}},
    "phases": {"join": "1 s", "settle": "1 s", "measure": "3 s", "drain": "1 s"},
    "attackers": {
        "peers": [*ATTACKERS],
        "behaviour": "black-hole",
        "at": f"{BEGINS} s",
        "for": f"{ENDS - BEGINS} s",
    },
    # The tests' machine may be busy.
    "fidelity": {
        "timer_lateness_p99": "25 s",
        "delay_error_p99": "25 s",
        "session_error_p99": "25 s",
        "loop_stall": "25 s",
        "fault_error": "25 s",
    },
}


def run_in_both(tmp_path: Path) -> tuple[Outcome, Outcome]:
    """Run the trial on the virtual clock and in two processes."""
    spec = TrialSpec.model_validate(SPEC)
    plan = make_plan(
        PEERS,
        [(peer, peer / 8, END) for peer in range(PEERS)],
        [(peer, 0, 0.0, END) for peer in range(PEERS)],
        [(at, number % PEERS, 0) for number, at in enumerate(TIMES)],
        attackers=ATTACKERS,
    )
    taken = [encode(NEAR[peer]) if peer in NEAR else None for peer in range(PEERS)]
    plan.peers = plan.peers.append_column(IDENTIFIER, pa.array(taken, IDENTIFIER.type))
    runtime = {"kind": "processes", "hosts": 2, "time_scale": 0.4}
    directory = TrialDirectory(tmp_path / "processes" / "trials" / "flood-1")
    directory.path.mkdir(parents=True)
    real = TrialSpec.model_validate(SPEC | {"runtime": runtime})
    return run(spec, plan, tmp_path / "virtual"), Outcome(
        directory, run_processes(real, plan, directory, lambda progress: None)
    )


def test_black_holes_in_processes_stand_where_they_choose_and_pass_nothing_on_in_their_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", PATH)
    for outcome in run_in_both(tmp_path):
        assert outcome.fidelity.valid, outcome.fidelity.reasons
        event_of = {s.trace: s.attributes[names.EVENT] for s in outcome.spans if s.name == "publish"}
        observed = [span for span in outcome.spans if span.name == names.OBSERVATION]
        told = [span for span in observed if span.attributes[names.OBSERVED] == "attack black-hole"]
        assert {span.attributes[names.OBSERVED] for span in observed} == {
            *("attack black-hole", "fault attack begins", "fault attack ends")
        }
        reports = outcome.fidelity.faults
        assert sum(report.messages["dropped"] for report in reports) == len(told)
        assert sum(report.peers for report in reports) == len(ATTACKERS)
        assert {report.name for report in reports} == {"attack"}
        late = [report.error_s for report in reports if report.error_s is not None]
        assert len(late) == len(outcome.fidelity.hosts)
        checks = [check.measured for check in outcome.fidelity.checks if check.name.startswith("fault time")]
        assert checks == (
            [] if outcome.fidelity.runtime == "virtual" else [pytest.approx(1000 * max(late), abs=0.01)]
        )
        assert all(BEGINS <= span.start < ENDS for span in told)
        dropped = {(span.attributes[names.PEER], event_of[span.trace]) for span in told}
        assert {peer for peer, _ in dropped} == {*ATTACKERS}
        copies = sorted(
            (span.end, event_of[span.trace], span.attributes[names.SENDER], span.attributes[names.PEER])
            for span in outcome.spans
            if span.name == "EventData"
        )
        first = dict[Handled, tuple[float, int]]()
        for at, event, sender, peer in copies:
            first.setdefault((peer, event), (at, sender))
        # A peer does not pass an event on to the peer from which it came first.
        passed = {
            (sender, event)
            for _, event, sender, peer in copies
            if sender in ATTACKERS and sender != event % PEERS and peer != first[sender, event][1]
        }
        attacked = {
            (peer, event)
            for (peer, event), (at, _) in first.items()
            if peer in ATTACKERS and peer != event % PEERS and BEGINS <= at < ENDS - MARGIN
        }
        assert attacked and attacked <= dropped and not attacked & passed
        assert {TIMES[event] > BEGINS for _, event in passed} == {False, True}
        assert any(sender == ATTACKERS[0] for _, event, sender, _ in copies if event == OWN)
        assert identifiers(outcome) == {peer: NEAR.get(peer, hash_of_peer(peer)) for peer in range(PEERS)}


def identifiers(outcome: Outcome) -> dict[int, int]:
    """Return the identifier that each peer took."""
    taken = points(outcome.directory.telemetry)[names.TAKEN_IDENTIFIER]
    return {told[names.PEER]: int(told[names.IDENTIFIER], 16) for told, _ in taken}


def attacker(world: World, kind: AttackModel) -> None:
    """Make peer 0 an attacker that floods peers 3 and 4, which are at another host."""
    life = Session(world.host, 0, 0, Random(0))
    make_hostile(life, kind, 1, 0.0, LONG)
    flood = Flood(life.root, FloodParameters(period=1000))
    flood.known = {3, 4}
    world.host.sessions[0] = life


@pytest.mark.parametrize("kind", [Duplication(copies=3), Garbage()], ids=lambda kind: kind.kind)
def test_a_host_sends_over_the_wire_what_an_attack_makes_of_a_message(
    kind: Duplication | Garbage, tmp_path: Path
) -> None:
    world = World(tmp_path)
    attacker(world, kind)
    event = EventData(event=7, topic=3, publisher=1, payload=b"content")
    sender = world.join(1)
    world.host.sessions[1].operate("publish", {}, lambda: sender.environment.send(0, event))
    count = 6 if isinstance(kind, Duplication) else 2
    world.run(until=lambda: len(world.wire.passages) == count)
    world.pass_time(0.02)
    sent = [
        (envelope.receiver, decode("EventData", envelope.payload))
        for envelope in world.wire.batch().envelopes
    ]
    onward = EventData(event=7, topic=3, publisher=1, hops=1, payload=b"content")
    if isinstance(kind, Duplication):
        assert sent == [(3, onward)] * 3 + [(4, onward)] * 3
    else:
        assert [message == onward for _, message in sent].count(False) == 1
    told = [read(span.attributes) for span in world.spans() if span.name == names.OBSERVATION]
    world.close()
    assert {mark[names.OBSERVED] for mark in told} == {f"attack {kind.kind}"}
    assert len(told) == (2 if isinstance(kind, Duplication) else 1)


def test_a_host_passes_on_what_an_attacker_delays_when_its_time_is_over(tmp_path: Path) -> None:
    world = World(tmp_path)
    attacker(world, Delay.model_validate({"by": "300 ms"}))
    sender = world.join(1)
    began = world.host.clock.now()
    event = EventData(event=7, topic=3, publisher=1)
    world.host.sessions[1].operate("publish", {}, lambda: sender.environment.send(0, event))
    world.run(until=lambda: len(world.wire.passages) == 2)
    assert {passage.receiver for passage in world.wire.passages} == {3, 4}
    assert all(passage.sent_ns / 1e9 - began >= ONE_WAY + 0.3 for passage in world.wire.passages)
    told = [read(span.attributes) for span in world.spans() if span.name == names.OBSERVATION]
    world.close()
    assert [mark[names.OBSERVED] for mark in told] == ["attack delay"] * 2


def test_a_host_sends_again_and_again_what_an_attacker_replays(tmp_path: Path) -> None:
    world = World(tmp_path)
    attacker(world, Replay.model_validate({"every": "50 ms"}))
    sender = world.add(1, Parts)
    event = EventData(event=7, topic=3, publisher=1)
    sender.environment.send(0, event)
    world.run(until=lambda: len(sender.heard) == 3)
    assert sender.heard == [("", 0, event)] * 3
    sent = [decode("EventData", envelope.payload) for envelope in world.wire.batch().envelopes]
    told = [read(span.attributes) for span in world.spans() if span.name == names.OBSERVATION]
    world.close()
    assert sent == [EventData(event=7, topic=3, publisher=1, hops=1)] * 2, "the flood passes it on once"
    assert {mark[names.OBSERVED] for mark in told} == {"attack replay"} and len(told) >= 3


@pytest.mark.parametrize("publisher", [None, 2])
def test_a_sybil_in_a_host_grafts_its_target_again_and_again_and_withholds_what_it_is_to_withhold(
    publisher: int | None, tmp_path: Path
) -> None:
    world = World(tmp_path)
    life = Session(world.host, 0, 0, Random(0))
    sybil = {"target": 3, "topic": TOPIC, "every": "50 ms", "publisher": publisher}
    make_hostile(life, MeshSybil.model_validate(sybil), 1, 0.0, LONG)
    world.host.sessions[0] = life
    attacker = GossipSub(life.root, GossipSubParameters())
    attacker.subscribe(TopicInterest(TOPIC))
    attacker.start([3])
    attacker.meshes.members[TOPIC][4] = None
    sender = world.add(1, Parts)
    sender.environment.send(0, message(7, publisher=1))

    def sent(kind: type[Message]) -> list[int]:
        parcels = [(passage.receiver, passage.parcel) for passage in world.wire.passages]
        return [to for to, parcel in parcels if parcel is not None and isinstance(parcel.message, kind)]

    world.run(until=lambda: sent(TopicGraft).count(3) >= 3)
    world.close()
    assert sent(TopicMessage) == ([] if publisher is None else [4])
