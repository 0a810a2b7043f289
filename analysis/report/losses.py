"""The outcomes that a trial owes, by what its traces say of the cause, and the messages that were stopped.

What stops a message (the network's loss, a fault, a full link, a busy peer, a peer that is down, an attacker)
marks it in the trace of its operation, as an observation of its sender about its receiver. A full down link
and a busy receiver are observations of the receiver about the sender.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from analysis.charts.results import Results
from analysis.report.plan_table import plan_table
from emulator.contract.value_service import GET, PUT
from emulator.faults.network_faults import stopping_observations
from emulator.faults.spec import STOPPING_ATTACKS
from emulator.network.access_links import DOWN_LINK_DROP, UP_LINK_DROP
from emulator.network.busy_peers import PROCESSING_DROP
from emulator.network.peer_network import LOSS, PEER_DOWN
from emulator.runtime.hostile_channel import OBSERVATION

NOT_DELIVERED: Final = "a copy arrived at the peer and was not delivered"
STOPPED: Final = "a message to the peer was stopped"
WORD_ALONE: Final = "word of it arrived at the peer, and no copy"
STOPPED_ELSEWHERE: Final = "a message to or from another peer, which has no copy either, was stopped"
NEVER_SENT: Final = "nothing was stopped: no peer passed it on to the peer"
NEVER_LEFT: Final = "nothing was stopped: no copy arrived at any peer but the publisher"
WRONG_PEER: Final = "it ended at another peer than the right one"
WRONG_PEER_STOPPED: Final = "it ended at another peer than the right one, and a message of it was stopped"
LOOKUP_STOPPED: Final = "a message of the lookup was stopped"
NOWHERE: Final = "nothing was stopped: it ended nowhere"
GET_EMPTY: Final = "the get ended without the value"
GET_EMPTY_STOPPED: Final = "the get ended without the value, and a message of it was stopped"
UNANSWERED: Final = "nothing was stopped: no end of the {} was told"
ASKED_STOPPED: Final = "a message of the {} was stopped"
A_MESSAGE_STOPPED: Final = "a message was stopped"
OUTSIDE: Final = "maintenance"
"""The name of messages outside of operations."""
_OF_NETWORK: Final = (LOSS, PEER_DOWN, UP_LINK_DROP, DOWN_LINK_DROP, PROCESSING_DROP)
_AT_RECEIVER: Final = (DOWN_LINK_DROP, PROCESSING_DROP)
"""The marks that the receiver of a message makes."""
_OF_ATTACKERS: Final = tuple(f"{OBSERVATION} {kind}" for kind in STOPPING_ATTACKS)

_STOP: Final = ["name", "operation", "peer", "subject"]
_COUNTS: Final = [("value", "count"), ("bytes", "sum")]

_OF_OPERATIONS: Final = {
    "operation": pa.string(),
    "event": pa.int32(),
    "lookup": pa.int32(),
    "number": pa.int64(),
}
"""The columns of the table of operations that marks are told with, which a trial may lack."""

Stop = tuple[str, str, int, int]
"""The reason, the operation, and the peers that sent a message and did not get it."""


@dataclass(slots=True)
class Losses:
    """The losses of one trial."""

    expected: int = 0
    """The number of deliveries that were expected, and of lookups, puts and gets that count."""
    causes: Counter[str] = field(default_factory=Counter)
    """The outcomes that were missed, by cause."""
    reasons: Counter[str] = field(default_factory=Counter)
    """Missed outcomes are counted here by the reason for which a message was stopped, whichever peer it was
    for. Those for which no message was stopped are counted by their cause."""
    missed_at: Counter[int] = field(default_factory=Counter)
    """Missed outcomes are counted here by the peer that was to get the event, or that began the operation."""
    stops: dict[Stop, tuple[int, int]] = field(default_factory=dict)
    """The numbers of messages that were stopped and of their bytes; attackers tell no bytes."""
    untraced: tuple[int, int] = (0, 0)
    """The numbers of messages of maintenance that the network's loss took, and of their bytes. No trace names
    their peers."""
    regions: Mapping[int, str] = field(default_factory=dict)
    """The region of each peer that is in one."""
    attackers: Collection[int] = ()

    def add(self, peer: int, cause: str, reason: str = "") -> None:
        """Count an outcome that a peer missed, and the reason for which a message was stopped, if any."""
        self.causes[f"{cause}: {reason}" if reason else cause] += 1
        self.reasons[f"{A_MESSAGE_STOPPED}: {reason}" if reason else cause] += 1
        self.missed_at[peer] += 1


def losses_of(results: Results, trial: str) -> Losses:
    """Return what was missed and stopped in a trial. Raises ResultsError if a table cannot be read."""
    found = Losses()
    marks = _marks(results, trial)
    for row in [] if marks is None else marks.group_by(_STOP).aggregate(_COUNTS).to_pylist():
        stop = row["name"], row["operation"] or OUTSIDE, row["peer"], row["subject"]
        count, size = found.stops.get(stop, (0, 0))
        found.stops[stop] = count + row["value_count"], size + round(row["bytes_sum"] or 0)
    if results.has("lost_messages"):
        rows = [row for row in results.rows("lost_messages", trial) if row["traffic"] == OUTSIDE]
        found.untraced = sum(row["lost"] for row in rows), sum(row["lost_bytes"] for row in rows)
    _add_deliveries(found, results, trial, marks)
    _add_lookups(found, results, trial, marks)
    for operation in (PUT, GET):
        _add_asked(found, results, trial, operation, marks)
    peers = plan_table(results.run, trial, "peers")
    if peers is not None:
        found.attackers = set(peers.filter(pc.field("attacker"))["peer"].to_pylist())
        if "region" in peers.column_names:
            numbers, names = peers["peer"].to_pylist(), peers["region"].to_pylist()
            found.regions = {peer: name for peer, name in zip(numbers, names, strict=True) if name}
    return found


def _marks(results: Results, trial: str) -> pa.Table | None:
    """Return a row for each message that was stopped: name, value, bytes, peer (that sent it), subject (that
    did not get it), operation, event, lookup, number; of messages outside of operations the last four are
    null."""
    if not results.has("observations"):
        return None
    values = next(each["values"] for each in results.trials if each["trial"] == trial)
    faults = values.get("faults", results.experiment.get("faults")) or []
    of_faults = [name for fault in faults for name in stopping_observations(fault["name"])]
    stopped = pc.field("name").isin([*_OF_NETWORK, *_OF_ATTACKERS, *of_faults])
    columns = ["name", "value", "unit", "peer", "subject", "trace"]
    found = results.table("observations", trial, columns, stopped)
    if found is None or not found.num_rows:
        return None
    size = pc.if_else(pc.equal(found["unit"], "bytes"), found["value"], None)
    found = _from_sender(found.append_column("bytes", size))
    operations = results.table("operations", trial, ["trace", *_OF_OPERATIONS])
    if operations is None:
        operations = pa.table(
            {"trace": pa.array([], found["trace"].type)}
            | {key: pa.array([], of) for key, of in _OF_OPERATIONS.items()}
        )
    return found.join(operations, "trace", join_type="left outer")


def _from_sender(marks: pa.Table) -> pa.Table:
    """Return marks with the sender of the message as their peer, and the receiver as their subject."""
    turned = pc.is_in(marks["name"], pa.array(_AT_RECEIVER))
    sides = marks["peer"].cast(pa.int64()), marks["subject"]
    for name, kept, other in (("peer", *sides), ("subject", *sides[::-1])):
        column = pc.if_else(turned, other, kept)
        marks = marks.set_column(marks.column_names.index(name), name, column)
    return marks


def _add_deliveries(found: Losses, results: Results, trial: str, marks: pa.Table | None) -> None:
    if not results.has("deliveries"):
        return
    due = pc.field("expected") & (pc.field("peer") != pc.field("publisher"))
    table = results.table("deliveries", trial, ["event", "peer", "publisher", "delivered"], due)
    if table is None:
        return
    found.expected += table.num_rows
    missed = table.filter(~pc.field("delivered"))
    publishers = dict(zip(missed["event"].to_pylist(), missed["publisher"].to_pylist(), strict=True))
    if not publishers:
        return
    copies, arrived = _copies(results, trial, publishers)
    to_peer, elsewhere = _by_event(marks, publishers, copies)
    for event, peer in zip(missed["event"].to_pylist(), missed["peer"].to_pylist(), strict=True):
        if copies.get((event, peer), 0):
            found.add(peer, NOT_DELIVERED)
        elif reasons := to_peer.get((event, peer)):
            found.add(peer, STOPPED, _reason(reasons))
        elif (event, peer) in copies:
            found.add(peer, WORD_ALONE)
        elif reasons := elsewhere.get(event):
            found.add(peer, STOPPED_ELSEWHERE, _reason(reasons))
        else:
            found.add(peer, NEVER_SENT if event in arrived else NEVER_LEFT)


def _by_event(
    marks: pa.Table | None, publishers: Mapping[int, int], copies: Mapping[tuple[int, int], int]
) -> tuple[dict[tuple[int, int], Counter[str]], dict[int, Counter[str]]]:
    """Return how many messages about these events were stopped for which reason, by event and peer, and by
    event those to or from a peer that could not pass the event on, because it got no copy and did not publish
    it."""
    to_peer = dict[tuple[int, int], Counter[str]]()
    elsewhere = dict[int, Counter[str]]()
    rows = [] if marks is None else marks.filter(pc.field("event").isin(list(publishers))).to_pylist()
    for row in rows:
        event, ends = row["event"], {row["peer"], row["subject"]}
        to_peer.setdefault((event, row["subject"]), Counter())[row["name"]] += 1
        if any(not copies.get((event, end), 0) for end in ends - {publishers[event]}):
            elsewhere.setdefault(event, Counter())[row["name"]] += 1
    return to_peer, elsewhere


def _copies(
    results: Results, trial: str, events: Collection[int]
) -> tuple[dict[tuple[int, int], int], set[int]]:
    """Return the copies of these events that arrived by event and peer, 0 for peers that other messages
    about them reached, and the events of which another peer than the publisher has a copy."""
    if not results.has("handled"):
        return {}, set()
    columns = ["event", "peer", "publisher", "copies"]
    table = results.table("handled", trial, columns, pc.field("event").isin(list(events)))
    rows = [] if table is None else table.to_pylist()
    away = {row["event"] for row in rows if row["copies"] and row["peer"] != row["publisher"]}
    return {(row["event"], row["peer"]): row["copies"] for row in rows}, away


def _add_lookups(found: Losses, results: Results, trial: str, marks: pa.Table | None) -> None:
    if not results.has("lookups"):
        return
    rows = [row for row in results.rows("lookups", trial) if row["counted"]]
    found.expected += len(rows)
    stopped = _stopped(marks, pc.field("lookup").is_valid(), "lookup")
    for row in rows:
        if row["right"]:
            continue
        causes = (WRONG_PEER_STOPPED, WRONG_PEER) if row["delivered"] else (LOOKUP_STOPPED, NOWHERE)
        _add_operation(found, row["origin"], stopped.get(row["lookup"]), *causes)


def _add_asked(found: Losses, results: Results, trial: str, operation: str, marks: pa.Table | None) -> None:
    """Add the puts or gets that count and failed: no copy was confirmed, or no version found."""
    table = f"{operation}s"
    if not results.has(table):
        return
    told = "copies" if operation == PUT else "version"
    rows = [row for row in results.rows(table, trial) if row["counted"]]
    if operation == GET:
        rows = [row for row in rows if row["newest"] is not None]
    found.expected += len(rows)
    stopped = _stopped(marks, pc.field("operation") == operation, "number")
    unanswered = ASKED_STOPPED.format(operation), UNANSWERED.format(operation)
    for row in rows:
        if not row[told]:
            ended = operation == GET and row[told] is not None
            causes = (GET_EMPTY_STOPPED, GET_EMPTY) if ended else unanswered
            _add_operation(found, row["peer"], stopped.get(row[operation]), *causes)


def _stopped(marks: pa.Table | None, of: pc.Expression, number: str) -> dict[int, Counter[str]]:
    """Return how many messages of these operations were stopped for which reason, by operation."""
    stopped = dict[int, Counter[str]]()
    for row in [] if marks is None else marks.filter(of).to_pylist():
        stopped.setdefault(row[number], Counter())[row["name"]] += 1
    return stopped


def _add_operation(
    found: Losses, peer: int, reasons: Counter[str] | None, stopped: str, otherwise: str
) -> None:
    """Add a failed operation of a peer, by its cause if messages of it were stopped, or otherwise."""
    if reasons:
        found.add(peer, stopped, _reason(reasons))
    else:
        found.add(peer, otherwise)


def _reason(reasons: Counter[str]) -> str:
    """Return the reason for which most messages were stopped, of equal ones the first by name."""
    return min(reasons, key=lambda name: (-reasons[name], name))
