"""A plan as a runtime follows it: what each peer does, in order of time."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from emulator import identifiers
from emulator.experiment.plan import Plan
from emulator.protocol import Event, Interest, RangeInterest, TopicInterest


@dataclass(frozen=True, slots=True)
class Join:
    session: int


@dataclass(frozen=True, slots=True)
class Leave:
    session: int
    graceful: bool


@dataclass(frozen=True, slots=True)
class Subscribe:
    number: int
    """The interest's in the plan."""
    interest: Interest


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    number: int
    """The interest's in the plan."""
    interest: Interest


@dataclass(frozen=True, slots=True)
class Publish:
    event: Event


@dataclass(frozen=True, slots=True)
class LookUp:
    number: int
    key: int


Action = Join | Leave | Subscribe | Unsubscribe | Publish | LookUp


@dataclass(frozen=True, slots=True)
class Step:
    """One action; `at` is s of trial time."""

    at: float
    peer: int
    action: Action


class Script:
    """The part of the plan that some peers carry out."""

    def __init__(self, plan: Plan, trial_end: float, peers: Collection[int] | None = None) -> None:
        """Of all peers, or of `peers` alone. Ends of sessions at `trial_end` are no leaves."""
        self._interests: dict[int, list[tuple[float, float, int, Interest]]] = {}
        for row in _rows(plan.subscriptions, "peer", peers):
            held = (row["start_s"], row["end_s"], row["interest"], _interest(row))
            self._interests.setdefault(row["peer"], []).append(held)
        steps: list[Step] = []
        for row in _rows(plan.sessions, "peer", peers):
            steps.append(Step(row["start_s"], row["peer"], Join(row["session"])))
            if row["end_s"] < trial_end:
                steps.append(Step(row["end_s"], row["peer"], Leave(row["session"], row["graceful"])))
        for peer, interests in self._interests.items():
            for start, end, number, interest in interests:
                if end < trial_end:
                    steps.append(Step(end, peer, Unsubscribe(number, interest)))
                if start > 0:
                    steps.append(Step(start, peer, Subscribe(number, interest)))
        steps += [
            Step(row["at_s"], row["publisher"], Publish(_event(row)))
            for row in _rows(plan.publications, "publisher", peers)
        ]
        steps += [
            Step(row["at_s"], row["peer"], LookUp(row["lookup"], identifiers.decode(row["key"])))
            for row in _rows(plan.lookups, "peer", peers)
        ]
        self.steps = sorted(steps, key=lambda step: step.at)
        """What a peer is to ask for while it is down is to be skipped."""

    def interests(self, peer: int, at: float) -> list[tuple[int, Interest]]:
        """What the peer asks for at trial time `at`, each with its number in the plan."""
        held = self._interests.get(peer, ())
        return [(number, interest) for start, end, number, interest in held if start <= at < end]


def _interest(row: dict[str, Any]) -> Interest:
    if row["ranges"] is None:
        return TopicInterest(row["topic"], row["rate"])
    return RangeInterest({part["attribute"]: (part["low"], part["high"]) for part in row["ranges"]})


def _event(row: dict[str, Any]) -> Event:
    attributes = {part["attribute"]: part["value"] for part in row["attributes"] or ()}
    return Event(row["event"], row["publisher"], row["topic"], attributes, bytes(row["payload_bytes"]))


def _rows(table: pa.Table, key: str, peers: Collection[int] | None) -> list[dict[str, Any]]:
    if peers is not None:
        table = table.filter(pc.is_in(table[key], pa.array(sorted(peers), table[key].type)))
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows
