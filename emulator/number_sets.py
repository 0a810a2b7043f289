"""Sets of whole numbers that take little memory: one packed table instead of an object for each number."""

from __future__ import annotations

from typing import Final

from librt.vecs import vec
from mypy_extensions import i64

LARGEST: Final = (1 << 62) - 1
_FREE: Final[i64] = -1
_FIRST_SLOTS: Final = 8


class NumberSet:
    """A set of numbers from 0 to `LARGEST`: a hash table of 16 to 32 bytes for each number."""

    __slots__ = ("_count", "_mask", "_slots")

    def __init__(self) -> None:
        self._slots = vec[i64]()
        self._mask: i64 = -1
        self._count: i64 = 0

    def __contains__(self, number: i64) -> bool:
        return self._mask >= 0 and self._slots[self._slot(number)] == number

    def add(self, number: i64) -> bool:
        """Whether it was not there yet."""
        if 2 * self._count > self._mask:
            self._grow()
        slot = self._slot(number)
        if self._slots[slot] == number:
            return False
        self._slots[slot] = number
        self._count += 1
        return True

    def _slot(self, number: i64) -> i64:
        """The slot of the number, or the free one that it would take."""
        slots, mask = self._slots, self._mask
        # Numbers that are made of several parts differ in some of their bytes alone.
        slot = (number ^ number >> 8 ^ number >> 40) & mask
        while slots[slot] != number and slots[slot] != _FREE:
            slot = (slot + 1) & mask
        return slot

    def _grow(self) -> None:
        former = self._slots
        size = max(2 * len(former), _FIRST_SLOTS)
        self._slots = vec[i64]([_FREE] * size)
        self._mask = size - 1
        self._count = 0
        for number in former:
            if number != _FREE:
                self.add(number)
