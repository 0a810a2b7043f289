"""A host counts what its applications get, for those who watch the trial."""

from __future__ import annotations

import pytest

from emulator.contract.protocol import Completion, Event, Installation, Lookup, Outcome
from emulator.runtime.live_histograms import HOPS
from emulator.runtime.realtime.clock import TrialClock
from emulator.runtime.realtime.outcome_counts import OutcomeCounts
from emulator.telemetry.context import TraceContext


class Stopped(TrialClock):
    """A clock that stands at ten seconds of trial time."""

    def now_ns(self) -> int:
        return 10 * 10**9


CLOCK = Stopped(0, 1.0)


def context(began_ns: int = -1) -> TraceContext:
    return TraceContext(bytes(16), 1, 0, None, began_ns=began_ns)


@pytest.mark.parametrize("outcome", [Event(1, 2, hops=3), Lookup(1, 2, 3, 3), Completion("agree", 1, 3)])
def test_an_outcome_is_counted_with_its_hops_and_the_time_since_the_operation_began(outcome: Outcome) -> None:
    counts = OutcomeCounts()
    counts.add(outcome, context(began_ns=7 * 10**9), CLOCK)
    assert (counts.number, counts.hops_together, counts.hops[HOPS.index(3)]) == (1, 3, 1)
    assert (counts.delays.maximum, len(counts.delays)) == (3.0, 1)


@pytest.mark.parametrize("where", [None, context()])
def test_without_a_known_begin_an_outcome_has_hops_and_no_delay(where: TraceContext | None) -> None:
    counts = OutcomeCounts()
    counts.add(Event(1, 2, hops=3), where, CLOCK)
    assert (counts.number, sum(counts.hops), len(counts.delays)) == (1, 1, 0)


def test_an_installation_is_no_outcome() -> None:
    counts = OutcomeCounts()
    counts.add(Installation(1, 2), context(began_ns=0), CLOCK)
    assert (counts.number, sum(counts.hops), len(counts.delays)) == (0, 0, 0)


@pytest.mark.parametrize(("hops", "place", "counted"), [(-5, 0, 0), (33, -1, 33), (10**400, -1, 10_000)])
def test_hops_that_no_message_can_have_made_are_counted_within_bounds(
    hops: int, place: int, counted: int
) -> None:
    counts = OutcomeCounts()
    counts.add(Event(1, 2, hops=hops), None, CLOCK)
    assert (counts.hops[place], counts.hops_together) == (1, counted)
