"""Sets of small whole numbers as bits of one `int`: bit n is set if n is in the set."""

from __future__ import annotations

from collections.abc import Iterable


def bit_set(numbers: Iterable[int]) -> int:
    """The set of these numbers, none of them negative."""
    found = 0
    for number in numbers:
        found |= 1 << number
    return found


def bits(numbers: int) -> list[int]:
    """The numbers in the set, ascending."""
    found = []
    while numbers:
        lowest = numbers & -numbers
        found.append(lowest.bit_length() - 1)
        numbers ^= lowest
    return found
