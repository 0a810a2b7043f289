"""Maps from whole numbers to whole numbers that take little memory, and make no object for a lookup."""

from __future__ import annotations

from typing import Final

from librt.vecs import vec
from mypy_extensions import i64

from emulator.compact.number_sets import FIRST_SLOTS, FREE, home_of, slot_of

ABSENT: Final[i64] = -1
"""The value of a number that is not in the map."""


class NumberMap:
    """Numbers from 0 to `LARGEST` with values of 64 bits: a hash table of 32 to 64 bytes for each number."""

    __slots__ = ("_count", "_keys", "_mask", "_values")

    def __init__(self) -> None:
        self._keys = vec[i64]()
        self._values = vec[i64]()
        self._mask: i64 = -1
        self._count: i64 = 0

    def __len__(self) -> int:
        return self._count

    def get(self, number: i64) -> i64:
        """Return the number's value, or `ABSENT`."""
        if self._mask < 0:
            return ABSENT
        slot = slot_of(self._keys, self._mask, number)
        return self._values[slot] if self._keys[slot] == number else ABSENT

    def put(self, number: i64, value: i64) -> None:
        """Set the number's value."""
        if 2 * self._count > self._mask:
            self._grow()
        slot = slot_of(self._keys, self._mask, number)
        if self._keys[slot] == FREE:
            self._keys[slot] = number
            self._count += 1
        self._values[slot] = value

    def remove(self, number: i64) -> None:
        """Remove the number."""
        if self._mask < 0:
            return
        keys, values, mask = self._keys, self._values, self._mask
        gap = slot_of(keys, mask, number)
        if keys[gap] == FREE:
            return
        self._count -= 1
        # A number that was put behind this slot because it was taken moves forward, so that it is found.
        slot = (gap + 1) & mask
        while keys[slot] != FREE:
            if (slot - home_of(keys[slot], mask)) & mask >= (slot - gap) & mask:
                keys[gap], values[gap] = keys[slot], values[slot]
                gap = slot
            slot = (slot + 1) & mask
        keys[gap] = FREE

    def _grow(self) -> None:
        keys, values = self._keys, self._values
        size = max(2 * len(keys), FIRST_SLOTS)
        self._keys = vec[i64]([FREE] * size)
        self._values = vec[i64]([ABSENT] * size)
        self._mask = size - 1
        self._count = 0
        slot: i64
        for slot in range(len(keys)):
            if keys[slot] != FREE:
                self.put(keys[slot], values[slot])
