"""Sets of numbers as ascending vectors do what Python's sets do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from librt.vecs import vec
from mypy_extensions import i32

from emulator.compact.bit_sets import bit_set
from emulator.compact.sorted_numbers import (
    are_equal,
    as_bits,
    difference,
    holds,
    packed_size,
    sorted_numbers,
    union,
)
from emulator.messages.coding import bit_set_size

SETS = st.sets(st.integers(0, 12)) | st.sets(st.integers(0, 40_000))


def vector(numbers: set[int]) -> vec[i32]:
    return vec[i32](sorted(numbers))


@given(SETS, SETS)
def test_two_sets_are_united_parted_and_compared(one: set[int], other: set[int]) -> None:
    assert list(union(vector(one), vector(other))) == sorted(one | other)
    assert list(difference(vector(one), vector(other))) == sorted(one - other)
    assert are_equal(vector(one), vector(other)) == (one == other)
    assert are_equal(vector(one), vector(set(one)))


@given(SETS, st.integers(-1, 41_000))
def test_a_set_holds_its_members_alone(numbers: set[int], other: int) -> None:
    assert all(holds(vector(numbers), number) for number in numbers)
    assert holds(vector(numbers), other) == (other in numbers)


@given(SETS)
def test_a_set_is_the_same_as_bits(numbers: set[int]) -> None:
    assert as_bits(vector(numbers)) == bit_set(numbers)
    assert list(sorted_numbers(bit_set(numbers))) == sorted(numbers)
    assert packed_size(vector(numbers)) == bit_set_size(bit_set(numbers))
