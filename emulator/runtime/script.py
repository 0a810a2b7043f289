"""A plan as a runtime follows it: what each peer does, in order of time."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from emulator.experiment.plan import Plan
from emulator.protocol import Event, TopicInterest


@dataclass(frozen=True, slots=True)
class Join:
    session: int


@dataclass(frozen=True, slots=True)
class Leave:
    session: int
    graceful: bool


@dataclass(frozen=True, slots=True)
class Subscribe:
    interest: TopicInterest


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    interest: TopicInterest


@dataclass(frozen=True, slots=True)
class Publish:
    event: Event


Action = Join | Leave | Subscribe | Unsubscribe | Publish


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
        self._interests: dict[int, list[tuple[float, float, TopicInterest]]] = {}
        for row in _rows(plan.subscriptions, "peer", peers):
            interest = TopicInterest(row["topic"], row["rate"])
            self._interests.setdefault(row["peer"], []).append((row["start_s"], row["end_s"], interest))
        steps: list[Step] = []
        for row in _rows(plan.sessions, "peer", peers):
            steps.append(Step(row["start_s"], row["peer"], Join(row["session"])))
            if row["end_s"] < trial_end:
                steps.append(Step(row["end_s"], row["peer"], Leave(row["session"], row["graceful"])))
        for peer, held in self._interests.items():
            for start, end, interest in held:
                if end < trial_end:
                    steps.append(Step(end, peer, Unsubscribe(interest)))
                if start > 0:
                    steps.append(Step(start, peer, Subscribe(interest)))
        for row in _rows(plan.publications, "publisher", peers):
            event = Event(row["event"], row["publisher"], row["topic"], payload=bytes(row["payload_bytes"]))
            steps.append(Step(row["at_s"], row["publisher"], Publish(event)))
        self.steps = sorted(steps, key=lambda step: step.at)
        """Subscription changes and publications of a peer that is down are to be skipped."""

    def interests(self, peer: int, at: float) -> list[TopicInterest]:
        """What the peer asks for at trial time `at`."""
        return [interest for start, end, interest in self._interests.get(peer, ()) if start <= at < end]


def _rows(table: pa.Table, key: str, peers: Collection[int] | None) -> list[dict[str, Any]]:
    if peers is not None:
        table = table.filter(pc.is_in(table[key], pa.array(sorted(peers), table[key].type)))
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows
