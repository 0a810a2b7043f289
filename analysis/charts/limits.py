"""The values that agree with a paper's number, as charts draw them.

Two limits are an outline. A single one is a line whose ends point to the values that agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from analysis.charts.axis import Axis
from analysis.charts.numerals import shown

_MARGIN = 9.0
"""The length by which a line goes beyond the first and the last point that it is about."""
_END = 5.0
"""The length of the ends of a single line."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The values of a quantity that agree with a paper's number, in the quantity's unit."""

    text: str
    """The claim and the paper's number, such as "V1: at least 99 %"."""
    low: float | None
    high: float | None

    @property
    def ends(self) -> list[float]:
        """The limits that there are: the lower, the upper, or both."""
        return [end for end in (self.low, self.high) if end is not None]

    def places(self, axis: Axis, unit: str) -> list[float]:
        """Return where the ends are on an axis of a quantity with this unit."""
        return [axis.place(axis.clip(shown(end, unit))) for end in self.ends]


def told(every: Iterable[Limits]) -> str:
    """Return the sentence that says what the limits in a chart are; "" without any."""
    texts = list(dict.fromkeys(limits.text for limits in every))
    return f"Dashed: what the paper's numbers allow ({'; '.join(texts)})." if texts else ""


@dataclass(frozen=True, slots=True)
class LimitsOver:
    """Limits of some points of a chart of lines: those of these series from one x to another."""

    limits: Limits
    first: float
    last: float
    series: frozenset[str]
    """The labels of the series."""


@dataclass(frozen=True, slots=True)
class DrawnLimits:
    """Limits, ready to draw."""

    text: str
    path: str


def across(over: LimitsOver, axes: tuple[Axis, Axis], units: tuple[str, str]) -> DrawnLimits:
    """Lay out limits on the x axis and the y axis, whose values have these units."""
    start, stop = (axes[0].place(shown(x, units[0])) for x in (over.first, over.last))
    sides = (max(start - _MARGIN, axes[0].start), min(stop + _MARGIN, axes[0].end))
    places = over.limits.places(axes[1], units[1])
    to = _inwards(places, -1 if over.limits.high is None else 1)
    lines = [f"M{sides[0]:.4g} {at:.4g}H{sides[1]:.4g}" for at in places]
    ends = [f"M{side:.4g} {places[0]:.4g}V{to:.4g}" for side in sides]
    return DrawnLimits(over.limits.text, "".join(lines + ends))


def upright(limits: Limits, axis: Axis, unit: str, top: float, bottom: float) -> DrawnLimits:
    """Lay out limits of a bar, whose length is on this axis, from `top` to `bottom`."""
    places = limits.places(axis, unit)
    to = _inwards(places, 1 if limits.high is None else -1)
    lines = [f"M{at:.4g} {top:.4g}V{bottom:.4g}" for at in places]
    ends = [f"M{places[0]:.4g} {side:.4g}H{to:.4g}" for side in (top, bottom)]
    return DrawnLimits(limits.text, "".join(lines + ends))


def _inwards(places: Sequence[float], direction: int) -> float:
    """Return where the ends of the first line lead: to the other one, or a little in this direction."""
    return places[1] if len(places) > 1 else places[0] + direction * _END
