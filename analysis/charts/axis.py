"""Axes of a chart: the position of a value in the drawing, and the round numbers that are written
beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from analysis.charts.numerals import number


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis."""

    at: float
    """The position in the drawing."""
    text: str
    value: float


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis from `low` to `high` (data), drawn from `start` to `end` (drawing units)."""

    label: str
    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False
    """This is true if equal ratios are equally far from each other; `low` is above 0 then."""

    def place(self, value: float) -> float:
        """Return where `value` lies in the drawing, to a tenth of a unit."""
        if self.logarithmic:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    def clip(self, value: float) -> float:
        """Return the value of the axis that is closest to `value`."""
        return min(max(value, self.low), self.high)

    def ticks(self, count: int = 5) -> list[Tick]:
        """Return about `count` round numbers inside the axis; the powers of ten of a logarithmic one."""
        if self.logarithmic:
            powers = range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)
            return [Tick(self.place(10.0**n), number(10.0**n), 10.0**n) for n in powers]
        step = _round_step((self.high - self.low) / count)
        decimals = max(-math.floor(math.log10(step) + 1e-9), 0)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        values = [n * step for n in range(first, last + 1)]
        return [Tick(self.place(value), number(value, decimals), value) for value in values]


def _round_step(least: float) -> float:
    """Return the smallest of 1, 2, 5 times a power of ten that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least * (1 - 1e-9))


def span(
    values: Iterable[float], from_zero: bool = True, at_most: float | None = None
) -> tuple[float, float]:
    """Return round bounds around finite `values`.

    `from_zero` lets the axis begin at 0; `at_most` is a bound that no value can pass.
    """
    finite = [v for v in values if math.isfinite(v)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    if from_zero:
        low = min(low, 0.0)
    if high - low < 1e-9 * max(abs(high), 1e-300):
        low, high = (low - abs(low) * 0.1, high + abs(high) * 0.1) if high else (0.0, 1.0)
    step = _round_step((high - low) / 4)
    low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    return low, high if at_most is None else min(high, at_most)
