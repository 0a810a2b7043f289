"""The queue of the virtual clock gives entries in order of time, whatever is pushed in between."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emulator.runtime.event_queue import Entry, EventQueue

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
