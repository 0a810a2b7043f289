"""Packed sets of numbers hold what was added and nothing else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from emulator.compact.number_sets import LARGEST, NumberSet

NUMBERS = st.integers(0, 40) | st.integers(0, LARGEST) | st.integers(0, 1 << 20).map(lambda n: n << 40 | 0xFF)


@given(st.lists(NUMBERS, max_size=200), st.lists(NUMBERS, max_size=20))
def test_a_number_is_new_once_and_only_what_was_added_is_there(added: list[int], others: list[int]) -> None:
    numbers, model = NumberSet(), set[int]()
    for number in added:
        assert (number in numbers) == (number in model)
        assert numbers.add(number) == (number not in model)
        model.add(number)
    assert [number in numbers for number in added + others] == [n in model for n in added + others]
