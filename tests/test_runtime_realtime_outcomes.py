"""A host counts what its applications get, for those who watch the trial."""

from __future__ import annotations

import time

import pytest

from emulator.contract.protocol import Completion, Event, Installation, Lookup, Outcome
from emulator.runtime.live_histograms import DURATIONS, HOPS
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
    counts.add(4, outcome, context(began_ns=7 * 10**9), CLOCK)
    assert (counts.number, counts.hops_together, counts.hops[HOPS.index(3)]) == (1, 3, 1)
    assert (counts.delays.maximum, len(counts.delays)) == (3.0, 1)


@pytest.mark.parametrize("where", [None, context()])
def test_without_a_known_begin_an_outcome_has_hops_and_no_delay(where: TraceContext | None) -> None:
    counts = OutcomeCounts()
    counts.add(4, Event(1, 2, hops=3), where, CLOCK)
    assert (counts.number, sum(counts.hops), len(counts.delays)) == (1, 1, 0)


def test_each_bound_tells_the_trace_of_its_last_outcome_once() -> None:
    counts = OutcomeCounts()
    for second, hops in ((7, 3), (8, 3), (9, 5)):
        where = TraceContext(bytes([second] * 16), 1, 0, None, began_ns=second * 10**9)
        counts.add(4, Event(1, 2, hops=hops), where, CLOCK)
    delays, hops_ = counts.told_delays(), counts.told_hops()
    assert [(e.bound, e.trace_id[0], e.value) for e in hops_.exemplars] == [(3, 8, 3), (5, 9, 5)]
    assert [(DURATIONS[e.bound], e.trace_id[0], e.value) for e in delays.exemplars] == [
        (1.0, 9, 1.0),
        (2.5, 8, 2.0),
        (5.0, 7, 3.0),
    ]
    assert all(abs(time.time() - e.at_s) < 60 for e in [*delays.exemplars, *hops_.exemplars])
    assert not counts.told_delays().exemplars
    assert not counts.told_hops().exemplars
    assert (sum(counts.told_delays().counts), sum(counts.told_hops().counts)) == (3, 3)


def test_an_outcome_outside_of_a_trace_is_no_exemplar() -> None:
    counts = OutcomeCounts()
    counts.add(4, Event(1, 2, hops=3), None, CLOCK)
    assert not counts.told_hops().exemplars


def test_an_installation_is_no_outcome() -> None:
    counts = OutcomeCounts()
    counts.add(4, Installation(1, 2), context(began_ns=0), CLOCK)
    assert (counts.number, sum(counts.hops), len(counts.delays)) == (0, 0, 0)


@pytest.mark.parametrize(("hops", "place", "counted"), [(-5, 0, 0), (33, -1, 33), (10**400, -1, 10_000)])
def test_hops_that_no_message_can_have_made_are_counted_within_bounds(
    hops: int, place: int, counted: int
) -> None:
    counts = OutcomeCounts()
    counts.add(4, Event(1, 2, hops=hops), None, CLOCK)
    assert (counts.hops[place], counts.hops_together) == (1, counted)


def test_outcomes_and_peers_are_counted_by_region_where_regions_are_known() -> None:
    counts = OutcomeCounts()
    counts.add(4, Event(1, 2, hops=3), None, CLOCK)
    assert (counts.in_region, counts.up_in_region([4, 5])) == ([], [])
    counts.count_regions(3, {4: 2, 5: 0, 6: 2})
    for peer in (4, 6, 5, 7):
        counts.add(peer, Event(1, 2, hops=3), None, CLOCK)
    assert counts.in_region == [1, 0, 2]
    assert counts.up_in_region([4, 6, 7]) == [0, 0, 2]
    assert counts.number == 5
