"""An index that finds which of many boxes with owners hold a point.

For each cell of an attribute's domain, one row of bits tells which boxes touch the cell, and another row
tells which boxes hold all of it. A box that may hold a point has its bits in the cells of all the point's
values; a box that holds all of these cells needs no comparison.
"""

from __future__ import annotations

from librt.vecs import vec
from mypy_extensions import i64

from emulator.protocols.pubsub.content.boxes import CELLS, Boxes, Held, Rows, places_in
from emulator.protocols.pubsub.content.space import Box, Values


class BoxIndex(Boxes):
    """A set of pairs of a box and its owner (a number), in which points are looked up."""

    def __init__(self, region: Box, lows: tuple[float, ...], highs: tuple[float, ...]) -> None:
        """Most points will lie in `region`; `lows` and `highs` bound it where it has no end of its own."""
        super().__init__(region, lows, highs)
        self.compared = 0
        """The number of boxes that points were compared with one by one."""
        self._touched = Rows(CELLS * len(lows))
        self._whole = Rows(CELLS * len(lows))
        self._sure = vec[i64]([i64(0)])
        """The bits of those candidates that hold the point without a comparison."""

    def owners_matching(self, values: Values, but: int | None = None) -> list[int]:
        """Return the owners of boxes that hold the point, without the owner `but`."""
        self._look_up(values)
        return [
            owner
            for owner, held in self._held.items()
            if owner != but and (self._surely(held) or self._any(held, values))
        ]

    def _look_up(self, values: Values) -> None:
        """Find the boxes that may hold the point, and those that hold it without a comparison."""
        self._take(self._all)
        found, sure = self._found, self._sure
        word: i64
        index: i64
        for word in range(len(found)):
            sure[word] = found[word]
        for index in range(len(self._lows)):
            value = values[index]
            row = CELLS * index + self._cell(index, value)
            self._touched.narrow(found, row)
            if self._lows[index] <= value <= self._highs[index]:
                self._whole.narrow(sure, row)
            else:
                for word in range(len(sure)):
                    sure[word] = 0

    def _surely(self, held: Held) -> bool:
        bits, sure = held.bits, self._sure
        both: i64 = 0
        word: i64
        for word in range(len(bits)):
            both |= bits[word] & sure[word]
        return both != 0

    def _any(self, held: Held, values: Values) -> bool:
        bits, found = held.bits, self._found
        word: i64
        for word in range(len(bits)):
            may = bits[word] & found[word]
            if may and self._any_of(may, word, values):
                return True
        return False

    def _any_of(self, bits: i64, word: i64, values: Values) -> bool:
        places: list[int] = []
        places_in(bits, word, places)
        for slot in places:
            box = self._boxes[slot]
            assert box is not None
            self.compared += 1
            if box.has(values):
                return True
        return False

    def _widen(self, width: i64) -> None:
        super()._widen(width)
        self._touched.widen(width)
        self._whole.widen(width)
        self._sure = vec[i64]([i64(0)] * int(width))

    def _mark_cells(self, box: Box, index: i64, first: i64, last: i64, slot: i64, there: bool) -> None:
        super()._mark_cells(box, index, first, last, slot, there)
        row = CELLS * index
        members = None if box.sets is None else box.sets[index]
        if members is not None:
            for value in members:
                cell = row + self._cell(index, value)
                self._touched.mark(cell, cell, slot, there)
            return
        self._touched.mark(row + first, row + last, slot, there)
        # A value in the first or last cell may lie outside of the box, unless the box reaches to the domain's
        # end.
        begin = first if box.lows[index] <= self._lows[index] else first + 1
        end = last if box.highs[index] >= self._highs[index] else last - 1
        self._whole.mark(row + begin, row + end, slot, there)
