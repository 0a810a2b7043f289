"""The time line above a chart over time: what began when, and how many peers joined and left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from analysis.charts.axis import Axis
from analysis.charts.numerals import number

_LANE: Final = 22
"""The height of a lane: a word with the bar of its time below it."""
_MOST_LANES: Final = 12
_LETTER: Final = 7.8
"""The width of a letter on a phone, where letters are widest."""
_FIRST: Final = 24
"""The top of the first lane, below the title of the axis."""
_MOVES, _HALF, _BINS = 44, 13, 48
"""The height of the drawing of joins and leaves, of each of its halves, and the number of its bars."""
_MOST_MOVES: Final = 6
"""The most settings whose joins and leaves stand above a chart: as many as it has series at first."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A vertical line with a word, such as the start of a flash crowd, or a band up to `until`.

    Both numbers are on the scale of the axis."""

    at: float
    text: str
    until: float | None = None
    of: frozenset[str] = frozenset()
    """The labels of the variants that have it; none if all have."""

    def is_of(self, series: str) -> bool:
        """This is true of the label of a series whose variant has the mark, or of a part of one."""
        return not self.of or is_one_of(series, self.of)


def is_one_of(series: str, labels: Iterable[str]) -> bool:
    """This is true of the label of a series that is one of these variants' labels, or of a part of one."""
    return any(series == label or series.startswith(f"{label}: ") for label in labels)


@dataclass(frozen=True, slots=True)
class Moves:
    """The times at which peers joined and left in trials of a chart, on the scale of its axis."""

    joins: Sequence[float]
    leaves: Sequence[float]
    trials: int
    of: str = ""
    """The setting of the trials in words; empty if it is that of all."""
    variants: frozenset[str] = frozenset()
    """The labels of the variants that have the setting."""


@dataclass(frozen=True, slots=True)
class DrawnMark:
    """A mark, ready to draw: a line at `left`, and a band to `right` if it has a width."""

    left: float
    right: float
    text: str
    text_at: tuple[float, float] | None
    """The begin of the word's foot, None if all lanes are full there; its bar is below it."""


@dataclass(frozen=True, slots=True)
class DrawnMoves:
    """Bars of joins, which go up from `middle`, and of leaves, which go down."""

    title: str
    title_at: float
    middle: float
    width: float
    joins: str
    leaves: str


@dataclass(frozen=True, slots=True)
class TimeLine:
    """A time line, which stands between the title of a chart and its plot."""

    marks: list[DrawnMark]
    moves: list[DrawnMoves]
    """The joins and leaves of each setting that has any, one below the other."""
    height: int
    """The height of all lanes; 0 if there are none."""


def time_line(marks: Sequence[Mark], moves: Sequence[Moves], axis: Axis) -> TimeLine:
    """Lay out the time line of an axis."""
    placed = drawn_marks(marks, axis)
    lanes = {mark.text_at[1] for mark in placed if mark.text_at is not None}
    height = _LANE * len(lanes)
    drawn = drawn_moves(moves, axis, height)
    return TimeLine(placed, drawn, height + height_of(drawn))


def height_of(moves: Sequence[DrawnMoves]) -> int:
    """Return the height of joins and leaves that are drawn."""
    return _MOVES * len(moves)


def drawn_moves(
    moves: Sequence[Moves], axis: Axis, below: int, letters: int | None = None
) -> list[DrawnMoves]:
    """Return the joins and leaves of each setting that has any on this axis, one below the other, `below` a
    height; none of more settings than `_MOST_MOVES`.

    Where their titles have room for a number of `letters` alone, these say no more than the setting, if there
    are several, and the rate.
    """
    several = len(moves) > 1
    found: list[DrawnMoves] = []
    for each in moves:
        of = each.of if several or letters is None else ""
        if one := _drawn_moves(replace(each, of=of), axis, _FIRST + below + height_of(found), letters):
            found.append(one)
    return found if len(found) <= _MOST_MOVES else []


def drawn_marks(marks: Sequence[Mark], axis: Axis) -> list[DrawnMark]:
    """Place the marks that are on the axis. A word or a bar that would cover the one before it stands a lane
    lower; if all lanes are full, only the pointer tells it."""
    found: list[DrawnMark] = []
    ends = [0.0] * _MOST_LANES
    for mark in sorted(marks, key=lambda mark: mark.at):
        until = mark.at if mark.until is None else mark.until
        if until < axis.low or mark.at > axis.high:
            continue
        left, right = (axis.place(axis.clip(at)) for at in (mark.at, until))
        width = _LETTER * len(mark.text)
        begin = max(min(left, axis.end - width), axis.start)
        free = next((lane for lane in range(_MOST_LANES) if ends[lane] <= begin), None)
        text_at = None
        if free is not None:
            ends[free] = max(begin + width, right) + _LETTER
            text_at = begin, float(_FIRST + _LANE * free + 12)
        found.append(DrawnMark(left, right, mark.text, text_at))
    return found


def _drawn_moves(moves: Moves, axis: Axis, top: float, letters: int | None) -> DrawnMoves | None:
    """Return the rates of joins and leaves, None if no peer moves on this axis."""
    width = (axis.high - axis.low) / _BINS
    joins, leaves = (_counts(times, axis, width) for times in (moves.joins, moves.leaves))
    most = max(*joins, *leaves)
    if not most:
        return None
    middle, wide = top + 18 + _HALF, (axis.end - axis.start) / _BINS
    rate = number(most / moves.trials / width)

    def bars(counts: Sequence[int], up: float) -> str:
        return "".join(
            f"M{axis.start + (place + 0.5) * wide:.1f} {middle:g}v{up * _HALF * count / most:.1f}"
            for place, count in enumerate(counts)
            if count
        )

    if letters is None:
        title = f"joins (up) and leaves (down), at most {rate}/s" + (f": {moves.of}" if moves.of else "")
    else:
        title = (
            f"{_shortened(moves.of, letters - len(rate) - 4)}, {rate}/s" if moves.of else f"at most {rate}/s"
        )
    return DrawnMoves(title, top + 12, middle, round(wide * 0.8, 1), bars(joins, -1), bars(leaves, 1))


def _counts(times: Sequence[float], axis: Axis, width: float) -> list[int]:
    counts = [0] * _BINS
    for at in times:
        if axis.low <= at <= axis.high:
            counts[min(int((at - axis.low) / width), _BINS - 1)] += 1
    return counts


def _shortened(text: str, letters: int) -> str:
    return text if len(text) <= letters else f"{text[: letters - 1].rstrip(' ,')}\N{HORIZONTAL ELLIPSIS}"
