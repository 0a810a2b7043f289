"""Packed maps of numbers answer as a dictionary does, whatever was put and removed before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emulator.compact.number_maps import ABSENT, NumberMap
from emulator.compact.number_sets import LARGEST

# Few numbers that meet in one slot again and again, and any number at all.
NUMBERS = st.integers(0, 40) | st.integers(0, LARGEST) | st.integers(0, 20).map(lambda n: n << 3 | 5)
VALUES = st.none() | st.integers(0, LARGEST)


@given(st.lists(st.tuples(NUMBERS, VALUES), max_size=300), st.lists(NUMBERS, max_size=20))
def test_a_map_holds_the_last_value_of_each_number_that_was_not_removed(
    steps: list[tuple[int, int | None]], others: list[int]
) -> None:
    numbers, model = NumberMap(), dict[int, int]()
    for number, value in steps:
        if value is None:
            numbers.remove(number)
            model.pop(number, None)
        else:
            numbers.put(number, value)
            model[number] = value
    assert len(numbers) == len(model)
    for number in [number for number, _ in steps] + others:
        assert numbers.get(number) == model.get(number, ABSENT)
