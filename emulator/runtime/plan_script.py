"""The plan's tables as a script."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from emulator.contract import identifiers
from emulator.contract.protocol import Event, Interest, RangeInterest, TopicInterest
from emulator.experiment.plan.tables import Plan
from emulator.runtime.script import (
    PLAIN,
    Held,
    Join,
    Leave,
    LookUp,
    Publish,
    Script,
    Step,
    Subscribe,
    Unsubscribe,
)


def script_of(plan: Plan, trial_end: float, peers: Collection[int] | None = None) -> Script:
    """The script of all peers, or of `peers` alone. Ends of sessions at `trial_end` are no leaves."""
    interests = [*_interests(_rows(plan.subscriptions, "peer", peers))]
    steps: list[Step] = []
    for row in _rows(plan.sessions, "peer", peers):
        steps.append(Step(row["start_s"], row["peer"], Join(row["session"])))
        if row["end_s"] < trial_end:
            steps.append(Step(row["end_s"], row["peer"], Leave(row["session"], row["graceful"])))
    for held in interests:
        if held.end < trial_end:
            steps.append(Step(held.end, held.peer, Unsubscribe(held.number, held.interest)))
        if held.start > 0:
            steps.append(Step(held.start, held.peer, Subscribe(held.number, held.interest)))
    steps += [
        Step(row["at_s"], row["publisher"], Publish(_event(row)))
        for row in _rows(plan.publications, "publisher", peers)
    ]
    steps += [
        Step(row["at_s"], row["peer"], LookUp(row["lookup"], identifiers.decode(row["key"])))
        for row in _rows(plan.lookups, "peer", peers)
    ]
    return Script(steps, interests, _roles(plan.peers, peers))


def _roles(table: pa.Table, peers: Collection[int] | None) -> dict[int, str]:
    """The roles of those that are not plain peers."""
    if "role" not in table.column_names:
        return {}
    return {row["peer"]: row["role"] for row in _rows(table, "peer", peers) if row["role"] != PLAIN}


def _interests(rows: list[dict[str, Any]]) -> Iterator[Held]:
    """Interests of peers. A server asks once for equal interests of its clients, while any of them has it."""
    of_clients: dict[tuple[int, str], list[Held]] = {}
    for row in rows:
        held = Held(row["peer"], row["start_s"], row["end_s"], row["interest"], _interest(row))
        if row["client"] is None:
            yield held
        else:
            of_clients.setdefault((held.peer, repr(held.interest)), []).append(held)
    for equal in of_clients.values():
        equal.sort(key=lambda held: (held.start, held.number))
        first = equal[0]
        for held in equal[1:]:
            if held.start > first.end:
                yield first
                first = held
            elif held.end > first.end:
                first = replace(first, end=held.end)
        yield first


def _interest(row: dict[str, Any]) -> Interest:
    if row["ranges"] is None:
        return TopicInterest(row["topic"], row["rate"])
    ranges, sets = {}, {}
    for part in row["ranges"]:
        if part["values"] is None:
            ranges[part["attribute"]] = part["low"], part["high"]
        else:
            sets[part["attribute"]] = frozenset(part["values"])
    return RangeInterest(ranges, sets)


def _event(row: dict[str, Any]) -> Event:
    attributes = {part["attribute"]: part["value"] for part in row["attributes"] or ()}
    return Event(row["event"], row["publisher"], row["topic"], attributes, bytes(row["payload_bytes"]))


def _rows(table: pa.Table, key: str, peers: Collection[int] | None) -> list[dict[str, Any]]:
    if peers is not None:
        table = table.filter(pc.is_in(table[key], pa.array(sorted(peers), table[key].type)))
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows
