"""A set of boxes with owners that finds which boxes cover another box, or lie in it.

Each attribute's domain is divided into cells. For each cell, one row of bits tells which boxes begin there or
behind it, and another row tells which boxes end there or before it. Two rows for each attribute leave few
boxes to compare.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64

from emulator.protocols.pubsub.content.space import Box

CELLS: Final = 64
"""The number of cells of an attribute's domain."""
BITS: Final = 63
"""The bits used of a word. The sign bit is left out, or words would differ between interpreted and compiled
code."""


class Rows:
    """Rows of bits that all have the same length, which grows by whole words."""

    __slots__ = ("_count", "width", "words")

    def __init__(self, count: int) -> None:
        self._count: i64 = count
        self.width: i64 = 1
        """The number of words in a row."""
        self.words = vec[i64]([i64(0)] * count)
        """The words of all rows, row after row."""

    def widen(self, width: i64) -> None:
        """Make each row this many words long, and keep its bits."""
        before, self.words = self.words, vec[i64]([i64(0)] * int(self._count * width))
        row: i64
        word: i64
        for row in range(self._count):
            for word in range(self.width):
                self.words[row * width + word] = before[row * self.width + word]
        self.width = width

    def mark(self, first: i64, last: i64, slot: i64, there: bool) -> None:
        """Set or clear the bit of one slot in the rows from `first` to `last`."""
        bit = _bit(slot)
        words, width = self.words, self.width
        place = first * width + slot // BITS
        end = last * width + slot // BITS
        added: i64 = 0
        if there:
            added = bit
        while place <= end:
            words[place] = words[place] & ~bit | added
            place += width

    def narrow(self, found: vec[i64], row: i64) -> None:
        """Keep in `found` only the bits that the row has too."""
        words, begin = self.words, row * self.width
        word: i64
        for word in range(self.width):
            found[word] = found[word] & words[begin + word]

    def exclude(self, found: vec[i64], row: i64) -> None:
        """Clear in `found` the bits that the row has."""
        words, begin = self.words, row * self.width
        word: i64
        for word in range(self.width):
            found[word] = found[word] & ~words[begin + word]


class Held:
    """The boxes of one owner."""

    __slots__ = ("bits", "slots")

    def __init__(self) -> None:
        self.slots: dict[Box, int] = {}
        """The slots of the boxes."""
        self.bits = vec[i64]()
        """The same slots as bits, in as many words as they need."""

    def mark(self, slot: i64) -> None:
        while i64(len(self.bits)) <= slot // BITS:
            self.bits = append(self.bits, i64(0))
        self.bits[slot // BITS] = self.bits[slot // BITS] | _bit(slot)

    def clear(self, slot: i64) -> None:
        self.bits[slot // BITS] = self.bits[slot // BITS] & ~_bit(slot)


class Boxes:
    """A set of pairs of a box and its owner, which is a number."""

    def __init__(self, region: Box, lows: tuple[float, ...], highs: tuple[float, ...]) -> None:
        """Most boxes will lie in `region`; `lows` and `highs` bound it where it has no end of its own."""
        self._lows = vec[float]([max(a, b) for a, b in zip(region.lows, lows, strict=True)])
        self._highs = vec[float]([min(a, b) for a, b in zip(region.highs, highs, strict=True)])
        self._scales = vec[float](
            [
                CELLS / (high - low) if high > low else 0.0
                for low, high in zip(self._lows, self._highs, strict=True)
            ]
        )
        self._begin = Rows(CELLS * len(self._lows))
        """For each cell, the boxes that begin in it or behind it."""
        self._end = Rows(CELLS * len(self._lows))
        """For each cell, the boxes that end in it or before it."""
        self._all = Held()
        self._found = vec[i64]([i64(0)])
        """The bits of the boxes that are still candidates while a query narrows them down."""
        self._boxes: list[Box | None] = []
        self._owners: list[int] = []
        self._free: list[int] = []
        self._held: dict[int, Held] = {}
        """The boxes of each owner, by owner."""

    def __len__(self) -> int:
        return len(self._boxes) - len(self._free)

    def has(self, box: Box, owner: int) -> bool:
        held = self._held.get(owner)
        return held is not None and box in held.slots

    def owners_of(self, box: Box) -> list[int]:
        """Return the owners that have this very box."""
        return [owner for owner, held in self._held.items() if box in held.slots]

    def boxes_of(self, owner: int) -> list[Box]:
        held = self._held.get(owner)
        return [] if held is None else list(held.slots)

    def items(self) -> Iterator[tuple[Box, int]]:
        """Yield all boxes with their owners."""
        for owner, held in self._held.items():
            for box in held.slots:
                yield box, owner

    def add(self, box: Box, owner: int) -> bool:
        """Add a box of an owner. Returns whether it was new."""
        held = self._held.get(owner)
        if held is None:
            held = self._held[owner] = Held()
        elif box in held.slots:
            return False
        if self._free:
            slot = self._free.pop()
            self._boxes[slot] = box
            self._owners[slot] = owner
        else:
            slot = len(self._boxes)
            self._boxes.append(box)
            self._owners.append(owner)
            if slot >= BITS * self._begin.width:
                self._widen(2 * self._begin.width)
        held.slots[box] = slot
        held.mark(slot)
        self._all.mark(slot)
        self._mark(box, slot, True)
        return True

    def discard(self, box: Box, owner: int) -> bool:
        """Remove a box of an owner. Returns whether it was there."""
        held = self._held.get(owner)
        slot = None if held is None else held.slots.pop(box, None)
        if held is None or slot is None:
            return False
        held.clear(slot)
        self._all.clear(slot)
        if not held.slots:
            del self._held[owner]
        self._mark(box, slot, False)
        self._boxes[slot] = None
        self._free.append(slot)
        return True

    def discard_all(self, owner: int) -> list[Box]:
        """Remove all boxes of an owner and return them."""
        boxes = self.boxes_of(owner)
        for box in boxes:
            self.discard(box, owner)
        return boxes

    def any_covers(self, box: Box, owner: int) -> bool:
        """Return whether a box of this owner covers this one."""
        held = self._held.get(owner)
        if held is None:
            return False
        self._take(held)
        index: i64
        for index in range(len(self._lows)):
            first, last = self._cell(index, box.lows[index]), self._cell(index, box.highs[index])
            if first + 1 < CELLS:
                self._begin.exclude(self._found, CELLS * index + first + 1)
            if last:
                self._end.exclude(self._found, CELLS * index + last - 1)
        for slot in self._left():
            found = self._boxes[slot]
            assert found is not None
            if found.covers(box):
                return True
        return False

    def covered(self, box: Box, owner: int | None = None, but: int | None = None) -> list[tuple[Box, int]]:
        """Return the boxes that this box covers, with their owners: of one owner, or of all but one."""
        held = self._all if owner is None else self._held.get(owner)
        if held is None:
            return []
        self._take(held)
        index: i64
        for index in range(len(self._lows)):
            first, last = self._cell(index, box.lows[index]), self._cell(index, box.highs[index])
            if first:
                self._begin.narrow(self._found, CELLS * index + first)
            if last + 1 < CELLS:
                self._end.narrow(self._found, CELLS * index + last)
        inside: list[tuple[Box, int]] = []
        for slot in self._left():
            found, its_owner = self._boxes[slot], self._owners[slot]
            assert found is not None
            if its_owner != but and box.covers(found):
                inside.append((found, its_owner))
        return inside

    def volume(self, box: Box) -> float:
        """Return the share of the region that a box takes, at most 1, as a key to sort by.

        A set counts as its span.
        """
        share = 1.0
        index: i64
        for index in range(len(self._lows)):
            lowest, highest = self._lows[index], self._highs[index]
            low, high = max(box.lows[index], lowest), min(box.highs[index], highest)
            if 0 < highest - lowest < math.inf:
                share *= max((high - low) / (highest - lowest), 0.0)
        return share

    def _take(self, held: Held) -> None:
        """Begin a query with the boxes of one owner as its candidates."""
        bits, found = held.bits, self._found
        word: i64
        for word in range(len(bits)):
            found[word] = bits[word]
        for word in range(len(bits), len(found)):
            found[word] = 0

    def _left(self) -> list[int]:
        """Return the slots of the boxes that are still candidates."""
        places: list[int] = []
        found = self._found
        word: i64
        for word in range(len(found)):
            if found[word]:
                places_in(found[word], word, places)
        return places

    def _cell(self, index: i64, value: float) -> i64:
        low = self._lows[index]
        if value <= low:
            return 0
        if value >= self._highs[index]:
            return CELLS - 1
        return min(i64((value - low) * self._scales[index]), CELLS - 1)

    def _widen(self, width: i64) -> None:
        self._begin.widen(width)
        self._end.widen(width)
        self._found = vec[i64]([i64(0)] * int(width))

    def _mark(self, box: Box, slot: i64, there: bool) -> None:
        index: i64
        for index in range(len(self._lows)):
            first, last = self._cell(index, box.lows[index]), self._cell(index, box.highs[index])
            self._mark_cells(box, index, first, last, slot, there)

    def _mark_cells(self, box: Box, index: i64, first: i64, last: i64, slot: i64, there: bool) -> None:
        """Mark a box in one attribute's rows; it touches the cells from `first` to `last`."""
        row = CELLS * index
        # No query reads the rows "begin in the first cell or behind it" and "end in the last cell or before
        # it".
        self._begin.mark(row + 1, row + first, slot, there)
        self._end.mark(row + last, row + CELLS - 2, slot, there)


def _bit(slot: i64) -> i64:
    """Return the bit of a slot in its word."""
    # The compiler takes a shifted literal for a number of 32 bits.
    bit: i64 = 1
    bit <<= slot % BITS
    return bit


def places_in(bits: i64, word: i64, places: list[int]) -> None:
    """Append the slots of a word's bits to `places`, the lowest first."""
    while bits:
        bit = bits & -bits
        bits ^= bit
        places.append(int(word) * BITS + int(bit).bit_length() - 1)
