"""Calls at their times in real time, and how late they were."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.compact.durations import Distribution
from emulator.runtime.realtime.agenda import Agenda
from emulator.runtime.realtime.clock import TrialClock, unix_ns


def run_agenda(fill: Callable[[Agenda, TrialClock], Awaitable[None]]) -> Agenda:
    clock = TrialClock(unix_ns(), 1.0)
    agenda = Agenda(clock, lambda error: None)

    async def live() -> None:
        agenda.start()
        await fill(agenda, clock)
        agenda.stop()

    asyncio.run(live())
    return agenda


def test_calls_are_made_in_order_and_never_early() -> None:
    made: list[tuple[float, float]] = []
    times = [0.01 + 0.0003 * step for step in range(100)]

    async def fill(agenda: Agenda, clock: TrialClock) -> None:
        for due in reversed(times):
            agenda.add(due, lambda due=due: made.append((due, clock.now())))
        while len(made) < len(times):
            await asyncio.sleep(0.005)

    run_agenda(fill)
    assert [due for due, _ in made] == times
    assert all(at >= due - 1e-6 for due, at in made)


def test_a_call_that_blocks_shows_as_a_stall_and_as_lateness() -> None:
    done: list[int] = []

    async def fill(agenda: Agenda, clock: TrialClock) -> None:
        agenda.add(0.0, time.sleep, 0.05)
        agenda.add(0.01, done.append, 1)
        while not done or not agenda.longest_stall:
            await asyncio.sleep(0.002)

    agenda = run_agenda(fill)
    assert agenda.longest_stall >= 0.05
    assert agenda.lateness.maximum >= 0.03


@given(st.lists(st.floats(0, 10_000), min_size=1), st.floats(0.01, 1))
def test_a_quantile_is_never_too_small_and_at_most_four_percent_too_large(
    durations: list[float], share: float
) -> None:
    distribution = Distribution()
    for duration in durations:
        distribution.add(duration)
    exact = sorted(durations)[max(-int(-share * len(durations) // 1) - 1, 0)]
    assert exact - 1e-6 <= distribution.quantile(share) <= exact * 1.04 + 2e-6


@given(st.lists(st.floats(0, 100)), st.lists(st.floats(0, 100)))
def test_distributions_of_hosts_add_up(one: list[float], other: list[float]) -> None:
    parts, whole = [Distribution(), Distribution()], Distribution()
    for part, durations in zip(parts, (one, other), strict=True):
        for duration in durations:
            part.add(duration)
            whole.add(duration)
    parts[0].merge(Distribution(parts[1].counts(), parts[1].maximum))
    assert list(parts[0].counts()) == list(whole.counts())
    assert parts[0].maximum == whole.maximum


def test_counts_by_bounds_hold_each_duration_once() -> None:
    distribution = Distribution()
    for milliseconds in (0, 0.5, 0.9, 2, 4, 40):
        distribution.add(milliseconds * 1e-3)
    assert distribution.within((0.001, 0.003, 0.01)) == [3, 1, 1, 1]
    assert distribution.total() == pytest.approx(0.0474, rel=0.032)
