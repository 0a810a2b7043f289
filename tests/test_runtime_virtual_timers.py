"""Timers on the virtual clock: order, periods, cancelling, and the end of a life."""

from __future__ import annotations

from pathlib import Path

import pytest
from runtime_diary import Diary, both_up, diary_spec, diary_system
from small_trial import make_plan, run

from emulator.experiment.plan.tables import Plan


@pytest.fixture
def diary(monkeypatch: pytest.MonkeyPatch) -> type[Diary]:
    return diary_system(monkeypatch)


def test_timers_of_a_crashed_peer_never_fire(diary: type[Diary], tmp_path: Path) -> None:
    def set_timers(peer: Diary) -> None:
        peer.environment.set_timer(3.0, peer.tick)
        peer.environment.every(1.0, peer.tick)

    diary.on_start = staticmethod(set_timers)
    run(diary_spec(), make_plan(2, [(0, 0.0, 2.5), (0, 2.75, 10.0)]), tmp_path)
    first, second = diary.lives
    assert first.ticks
    assert max(first.ticks) <= 2.5
    assert 5.75 in second.ticks
    assert len(second.ticks) in (8, 9)


def test_a_period_begins_within_itself_and_then_repeats(diary: type[Diary], tmp_path: Path) -> None:
    diary.on_start = staticmethod(lambda peer: peer.environment.every(2.0, peer.tick))
    run(diary_spec(30), make_plan(30, [(peer, 1.0, 10.0) for peer in range(30)]), tmp_path)
    firsts = []
    for peer in diary.lives:
        first, *later = peer.ticks
        firsts.append(first)
        assert later == pytest.approx([first + 2.0 * n for n in range(1, len(later) + 1)])
        assert peer.ticks[-1] > 8.0
    assert all(1.0 <= first <= 3.0 for first in firsts)
    assert max(firsts) - min(firsts) > 1.0


@pytest.mark.parametrize("periodic", [False, True])
def test_a_cancelled_timer_does_not_fire(diary: type[Diary], tmp_path: Path, periodic: bool) -> None:
    def set_and_cancel(peer: Diary) -> None:
        set_timer = peer.environment.every if periodic else peer.environment.set_timer
        timer = set_timer(2.0, peer.tick)
        peer.environment.set_timer(5.0 if periodic else 1.0, timer.cancel)

    diary.on_start = staticmethod(set_and_cancel)
    run(diary_spec(), make_plan(2, both_up(10.0)), tmp_path)
    assert all(tick <= 5.0 for peer in diary.lives for tick in peer.ticks)
    assert all(len(peer.ticks) == (2 if periodic else 0) or periodic for peer in diary.lives)


def test_a_periodic_timer_can_cancel_itself(diary: type[Diary], tmp_path: Path) -> None:
    def once(peer: Diary) -> None:
        def call() -> None:
            peer.tick()
            timer.cancel()

        timer = peer.environment.every(1.0, call)

    diary.on_start = staticmethod(once)
    run(diary_spec(), make_plan(2, both_up(10.0)), tmp_path)
    assert [len(peer.ticks) for peer in diary.lives] == [1, 1]


def test_messages_and_timers_at_one_time_keep_their_order(diary: type[Diary], tmp_path: Path) -> None:
    order: list[int] = []

    def set_timers(peer: Diary) -> None:
        for number in range(50):
            peer.environment.set_timer(3.0, lambda number=number: order.append(number))  # type: ignore[misc]

    diary.on_start = staticmethod(set_timers)
    run(diary_spec(), make_plan(2, [(0, 0.0, 10.0)]), tmp_path)
    assert order == list(range(50))


def test_timers_of_any_delay_fire_in_order_of_time(diary: type[Diary], tmp_path: Path) -> None:
    fired: list[tuple[float, float]] = []

    def set_timers(peer: Diary) -> None:
        def chain(left: int) -> None:
            delay = peer.environment.random.choice([0.0, 1e-9, 0.001, 0.3, 1.0, 2.5])
            due = peer.environment.now + delay

            def fire() -> None:
                fired.append((due, peer.environment.now))
                if left:
                    chain(left - 1)

            peer.environment.set_timer(delay, fire)

        for _ in range(200):
            chain(5)

    diary.on_start = staticmethod(set_timers)
    run(diary_spec(1 + 1, 30.0), make_plan(2, both_up(30.0)), tmp_path)
    assert len(fired) == 2 * 200 * 6
    assert all(due == now for due, now in fired)
    assert [now for _, now in fired] == sorted(now for _, now in fired)


def test_nothing_happens_after_the_end(diary: type[Diary], tmp_path: Path) -> None:
    diary.on_start = staticmethod(lambda peer: peer.environment.every(0.5, peer.tick))
    plan: Plan = make_plan(2, both_up(10.0))
    run(diary_spec(end=3.25), plan, tmp_path)
    assert all(tick <= 3.25 for peer in diary.lives for tick in peer.ticks)
