"""The queue of the virtual clock gives entries in order of time, whatever is pushed in between."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emulator.runtime.virtual.event_queue import ROW_ARRIVES, ROW_REACHES, Entry, EventQueue
from emulator.runtime.virtual.events import Call
from emulator.runtime.virtual.life import VirtualTimer

DELAYS = st.sampled_from([0.0, 1e-9, 0.0005, 0.001953125, 0.002, 0.05, 1.0, 60.0]) | st.floats(0, 5)
STEPS = st.lists(st.tuples(st.just("push"), DELAYS) | st.tuples(st.just("pop"), DELAYS), max_size=60)


@given(STEPS)
def test_what_is_due_comes_out_in_order_and_nothing_else(steps: list[tuple[str, float]]) -> None:
    queue, waiting, now = EventQueue(), list[tuple[float, int]](), 0.0
    for order, (step, seconds) in enumerate(steps):
        if step == "push":
            queue.push(Entry(now + seconds, order))
            waiting.append((now + seconds, order))
            continue
        end = now + seconds
        first = min(waiting, default=None)
        entry = queue.pop(end)
        if first is None or first[0] > end:
            assert entry is None
            now = end
        else:
            assert entry is not None
            assert (entry.at, entry.order) == first
            waiting.remove(first)
            now = first[0]
    rest = []
    while (entry := queue.pop(float("1e9"))) is not None:
        rest.append((entry.at, entry.order))
    assert rest == sorted(waiting)


@given(st.lists(st.tuples(DELAYS, st.booleans()), max_size=3000))
def test_rows_and_entries_come_out_in_one_order_with_what_they_were_pushed_with(
    events: list[tuple[float, bool]],
) -> None:
    queue, waiting = EventQueue(), list[tuple[float, int, bool]]()
    for order, (at, is_row) in enumerate(events):
        if is_row:
            facts = [order + more for more in range(1, 6)]
            reaches = -1 if order % 2 else 7 * order
            queue.push_row(at, order, *facts, at / 2, reaches)
        else:
            queue.push(Entry(at, order))
        waiting.append((at, order, is_row))
    for at, order, is_row in sorted(waiting):
        entry = queue.pop(100.0)
        assert queue.at == at
        if is_row:
            assert entry is (ROW_ARRIVES if order % 2 else ROW_REACHES)
            assert queue.reaches == (-1 if order % 2 else 7 * order)
            told = (queue.pool, queue.receiver, queue.sender, queue.session, queue.row)
            assert told == tuple(order + more for more in range(1, 6))
            assert (queue.order, queue.sent) == (order, at / 2)
        else:
            assert entry is not None
            assert entry.order == order
    assert queue.pop(100.0) is None


@given(st.permutations(range(40)))
def test_entries_of_the_same_moments_come_out_in_order_however_they_went_in(orders: list[int]) -> None:
    queue = EventQueue()
    for order in orders:
        queue.push(Entry(1.0 + order // 4 * 1e-5, order))  # all in one bucket, four at each time
    popped = [queue.pop(2.0) for _ in orders]
    assert [entry.order for entry in popped if entry is not None] == sorted(orders)


def test_calls_that_were_cancelled_before_their_turn_are_left_out() -> None:
    queue, timers = EventQueue(), [VirtualTimer(print, None) for _ in range(4)]
    for order, timer in enumerate(timers):
        queue.push(Call(1.0 + order // 2, order, timer))
    timers[1].cancel()
    timers[3].cancel()
    assert [entry and entry.order for entry in (queue.pop(5.0), queue.pop(5.0), queue.pop(5.0))] == [
        0,
        2,
        None,
    ]
