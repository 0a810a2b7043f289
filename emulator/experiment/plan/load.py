"""The load of a plan: the numbers that the cost of a trial grows with."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.compute as pc

from emulator.experiment.plan.tables import Plan

_ONE_EACH = ("lookups", "gets", "puts")
"""The tables of operations that are for one peer."""


@dataclass(frozen=True, slots=True)
class Load:
    """The time that the peers of a plan are up, and how much they are asked for."""

    deliveries: int
    """Each event to each subscriber of its topic, an event without a topic to each peer, and one for each
    lookup, get and put."""
    subscriptions: int
    peer_s: float
    """The seconds that peers are up, summed over all sessions."""


def load(plan: Plan) -> Load:
    """Return the load of a plan."""
    subscriptions = int(plan.subscriptions.num_rows) if "subscriptions" in plan.tables else 0
    lasts = pc.subtract(plan.sessions["end_s"], plan.sessions["start_s"])
    return Load(_deliveries(plan), subscriptions, float(pc.sum(lasts).as_py() or 0.0))


def _deliveries(plan: Plan) -> int:
    found = sum(int(plan.tables[name].num_rows) for name in _ONE_EACH if name in plan.tables)
    if "publications" not in plan.tables or not plan.publications.num_rows:
        return found
    topics = plan.publications["topic"]
    found += int(topics.null_count * plan.peers.num_rows)
    published = {each["values"]: each["counts"] for each in pc.value_counts(topics.drop_null()).to_pylist()}
    subscribed = pc.value_counts(plan.subscriptions["topic"].drop_null()).to_pylist()
    return found + sum(int(each["counts"] * published.get(each["values"], 0)) for each in subscribed)
