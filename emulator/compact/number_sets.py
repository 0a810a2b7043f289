"""Sets of whole numbers that take little memory: one packed table instead of an object for each number."""

from __future__ import annotations

from typing import Final

from librt.vecs import vec
from mypy_extensions import i64

LARGEST: Final = (1 << 62) - 1
FREE: Final[i64] = -1
"""The content of a slot without a number."""
FIRST_SLOTS: Final = 8


class NumberSet:
    """A set of numbers from 0 to `LARGEST`: a hash table of 16 to 32 bytes for each number."""

    __slots__ = ("_count", "_mask", "_slots")

    def __init__(self) -> None:
        self._slots = vec[i64]()
        self._mask: i64 = -1
        self._count: i64 = 0

    def __contains__(self, number: i64) -> bool:
        return self._mask >= 0 and self._slots[slot_of(self._slots, self._mask, number)] == number

    def add(self, number: i64) -> bool:
        """Add the number. Returns whether it was new."""
        if 2 * self._count > self._mask:
            self._grow()
        slot = slot_of(self._slots, self._mask, number)
        if self._slots[slot] == number:
            return False
        self._slots[slot] = number
        self._count += 1
        return True

    def _grow(self) -> None:
        former = self._slots
        size = max(2 * len(former), FIRST_SLOTS)
        self._slots = vec[i64]([FREE] * size)
        self._mask = size - 1
        self._count = 0
        for number in former:
            if number != FREE:
                self.add(number)


def home_of(number: i64, mask: i64) -> i64:
    """Return the slot at which the search for a number begins; `mask` is the number of slots less one."""
    # Numbers that are made of several parts differ in only some of their bits.
    return (number ^ number >> 8 ^ number >> 40) & mask


def slot_of(slots: vec[i64], mask: i64, number: i64) -> i64:
    """Return the slot of the number, or the free one that it would take."""
    slot = home_of(number, mask)
    while slots[slot] != number and slots[slot] != FREE:
        slot = (slot + 1) & mask
    return slot
