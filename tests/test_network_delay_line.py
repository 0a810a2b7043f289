"""The delay line gives each item back once, when it is due, in order."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.network.delay_line import DelayLine


def test_nothing_leaves_before_it_is_due() -> None:
    line: DelayLine[str] = DelayLine(10)
    assert line.next_due() is None
    line.push(2.0, "late")
    line.push(1.0, "early")
    assert line.next_due() == 1.0
    assert line.pop_due(0.999) == []
    assert line.pop_due(1.0) == ["early"]
    assert line.next_due() == 2.0
    assert line.pop_due(5.0) == ["late"]
    assert len(line) == 0


def test_items_need_no_order_of_their_own() -> None:
    line: DelayLine[dict[str, int]] = DelayLine(10)
    line.push(1.0, {"a": 1})
    line.push(1.0, {"b": 2})
    assert line.pop_due(1.0) == [{"a": 1}, {"b": 2}]


def test_a_full_line_drops_what_comes_and_counts_it() -> None:
    line: DelayLine[int] = DelayLine(2)
    assert [line.push(float(n), n) for n in range(4)] == [True, True, False, False]
    assert line.dropped == 2
    assert line.pop_due(9.0) == [0, 1]
    assert line.push(9.0, 9)


def test_senseless_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 item"):
        DelayLine[int](0)
    with pytest.raises(ValueError, match="not a number"):
        DelayLine[int](1).push(math.nan, 1)


@given(st.lists(st.integers(0, 20)), st.lists(st.integers(0, 20)))
def test_leaves_by_due_time_and_then_by_arrival(dues: list[int], times: list[int]) -> None:
    line: DelayLine[tuple[int, int]] = DelayLine(1000)
    for number, due in enumerate(dues):
        line.push(due, (due, number))
    left = []
    for now in [*sorted(times), 99]:
        batch = line.pop_due(now)
        assert all(due <= now for due, _ in batch)
        left += batch
        after = line.next_due()
        assert after is None or after > now
    assert left == sorted((due, number) for number, due in enumerate(dues))
