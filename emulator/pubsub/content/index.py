"""An index of boxes with owners: which of them hold a point, cover a box, or lie in one.

Each attribute's domain is divided into cells. A cell has a whole number whose bits tell which boxes touch it
there, and another one for those that hold all of it. The boxes that may hold a point have their bits in the
cells of all its values; those that hold all these cells need no comparison.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from emulator.pubsub.content.space import Box, Values

_CELLS: Final = 64
"""Of an attribute's domain."""


class BoxIndex:
    """Boxes, each once for an owner (a number)."""

    def __init__(self, region: Box, lows: tuple[float, ...], highs: tuple[float, ...]) -> None:
        """Most points will lie in `region`; `lows` and `highs` bound it where it has no end of its own."""
        self.compared = 0
        """Boxes that a point was compared with one by one."""
        self._lows = [max(a, b) for a, b in zip(region.lows, lows, strict=True)]
        self._highs = [min(a, b) for a, b in zip(region.highs, highs, strict=True)]
        self._scales = [
            _CELLS / (high - low) if high > low else 0.0
            for low, high in zip(self._lows, self._highs, strict=True)
        ]
        self._touched = [[0] * _CELLS for _ in self._lows]
        self._whole = [[0] * _CELLS for _ in self._lows]
        self._boxes: list[Box | None] = []
        self._owners: list[int] = []
        self._free: list[int] = []
        self._bits: dict[int, int] = {}
        """The boxes of each owner."""
        self._slots: dict[int, dict[Box, int]] = {}
        """The places of the boxes of each owner."""

    def __len__(self) -> int:
        return len(self._boxes) - len(self._free)

    def has(self, box: Box, owner: int) -> bool:
        slots = self._slots.get(owner)
        return slots is not None and box in slots

    def owners_of(self, box: Box) -> list[int]:
        """Those that have this very box."""
        return [owner for owner, slots in self._slots.items() if box in slots]

    def boxes_of(self, owner: int) -> list[Box]:
        return list(self._slots.get(owner, ()))

    def count(self, owner: int) -> int:
        """The number of boxes of an owner."""
        return len(self._slots.get(owner, ()))

    def items(self) -> Iterator[tuple[Box, int]]:
        """All boxes with their owners."""
        for owner, slots in self._slots.items():
            for box in slots:
                yield box, owner

    def add(self, box: Box, owner: int) -> bool:
        """Whether it was not there yet."""
        slots = self._slots.get(owner)
        if slots is None:
            slots = self._slots[owner] = {}
        elif box in slots:
            return False
        if self._free:
            slot = self._free.pop()
            self._boxes[slot] = box
            self._owners[slot] = owner
        else:
            slot = len(self._boxes)
            self._boxes.append(box)
            self._owners.append(owner)
        slots[box] = slot
        bit = 1 << slot
        self._bits[owner] = self._bits.get(owner, 0) | bit
        self._mark(box, bit, True)
        return True

    def discard(self, box: Box, owner: int) -> bool:
        """Whether it was there."""
        slots = self._slots.get(owner)
        slot = None if slots is None else slots.pop(box, None)
        if slots is None or slot is None:
            return False
        bit = 1 << slot
        self._bits[owner] &= ~bit
        if not slots:
            del self._slots[owner], self._bits[owner]
        self._mark(box, bit, False)
        self._boxes[slot] = None
        self._free.append(slot)
        return True

    def discard_all(self, owner: int) -> list[Box]:
        """Remove what an owner has; what it was."""
        boxes = self.boxes_of(owner)
        for box in boxes:
            self.discard(box, owner)
        return boxes

    def owners_matching(self, values: Values, but: int | None = None) -> list[int]:
        """The owners of boxes that hold the point, without `but`."""
        may, sure = self._candidates(values)
        found = []
        if may:
            for owner, bits in self._bits.items():
                if owner != but and (sure & bits or self._any(may & bits, values)):
                    found.append(owner)
        return found

    def any_covers(self, box: Box, owner: int) -> bool:
        """Whether a box of this owner covers this one."""
        bits = self._bits.get(owner, 0)
        for index in range(len(self._lows)):
            touched = self._touched[index]
            bits &= touched[self._cell(index, box.lows[index])] & touched[self._cell(index, box.highs[index])]
            if not bits:
                return False
        for slot in _places(bits):
            found = self._boxes[slot]
            assert found is not None
            if found.covers(box):
                return True
        return False

    def covered(self, box: Box, owner: int | None = None, but: int | None = None) -> list[tuple[Box, int]]:
        """The boxes that this one covers, with their owners: one owner's, or those of all but one."""
        bits = self._bits.get(owner, 0) if owner is not None else -1
        if but is not None:
            bits &= ~self._bits.get(but, 0)
        for index in range(len(self._lows)):
            first, last = self._cell(index, box.lows[index]), self._cell(index, box.highs[index])
            touched, touching = self._touched[index], 0
            for bits_of_cell in touched[first : last + 1]:
                touching |= bits_of_cell
            bits &= touching
            # What touches a cell beside these reaches out of the box.
            if first:
                bits &= ~touched[first - 1]
            if last + 1 < _CELLS:
                bits &= ~touched[last + 1]
            if not bits:
                return []
        inside: list[tuple[Box, int]] = []
        for slot in _places(bits):
            found = self._boxes[slot]
            assert found is not None
            if box.covers(found):
                inside.append((found, self._owners[slot]))
        return inside

    def _cell(self, index: int, value: float) -> int:
        low = self._lows[index]
        if value <= low:
            return 0
        if value >= self._highs[index]:
            return _CELLS - 1
        return min(int((value - low) * self._scales[index]), _CELLS - 1)

    def _mark(self, box: Box, bit: int, there: bool) -> None:
        for index in range(len(self._lows)):
            touched, whole = self._touched[index], self._whole[index]
            members = None if box.sets is None else box.sets[index]
            if members is not None:
                for cell in {self._cell(index, value) for value in members}:
                    touched[cell] = touched[cell] | bit if there else touched[cell] & ~bit
                continue
            low, high = box.lows[index], box.highs[index]
            first, last = self._cell(index, low), self._cell(index, high)
            for cell in range(first, last + 1):
                touched[cell] = touched[cell] | bit if there else touched[cell] & ~bit
            # Values of the cells at the ends may lie outside, unless the box reaches to the domain's end.
            begin = first if low <= self._lows[index] else first + 1
            end = last if high >= self._highs[index] else last - 1
            for cell in range(begin, end + 1):
                whole[cell] = whole[cell] | bit if there else whole[cell] & ~bit

    def _candidates(self, values: Values) -> tuple[int, int]:
        """The boxes that may hold the point, and those that do without a look at them."""
        may = sure = -1
        for index in range(len(self._lows)):
            value = values[index]
            cell = self._cell(index, value)
            may &= self._touched[index][cell]
            if not may:
                return 0, 0
            if self._lows[index] <= value <= self._highs[index]:
                sure &= self._whole[index][cell]
            else:
                sure = 0
        return may, sure

    def _any(self, bits: int, values: Values) -> bool:
        for slot in _places(bits):
            box = self._boxes[slot]
            assert box is not None
            self.compared += 1
            if box.has(values):
                return True
        return False


def _places(bits: int) -> list[int]:
    """Of the bits that are set."""
    found = []
    while bits > 0:
        bit = bits & -bits
        bits ^= bit
        found.append(bit.bit_length() - 1)
    return found


def volume(box: Box, lows: tuple[float, ...], highs: tuple[float, ...]) -> float:
    """The share of a region that a box takes, at most 1; sets count as what they span. To sort by."""
    share = 1.0
    for index in range(len(lows)):
        width = highs[index] - lows[index]
        low, high = max(box.lows[index], lows[index]), min(box.highs[index], highs[index])
        share *= max((high - low) / width, 0.0) if width > 0 and math.isfinite(width) else 1.0
    return share
