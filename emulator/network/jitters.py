"""Trellis' own models of jitter."""

from __future__ import annotations

import math
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import NormalDist
from typing import Final, Literal

from pydantic import Field

from emulator.files.quantities import Duration, Share
from emulator.files.trace_error import TraceError
from emulator.files.trace_lines import numbered_lines, shown
from emulator.network.model import Jitter, JitterModel, Problems

Point = list[float]
"""Two numbers: a share of the messages, and the most that they take beyond the delay of their pair."""
_NORMAL: Final = NormalDist()
HALF_NORMAL_DEVIATION: Final = math.sqrt(1 - 2 / math.pi)
"""The standard deviation of the absolute value of a standard normal variable."""
_CUT: Final = 4.0
"""The deviations at which a normal variable is cut, about where the tables of netem end."""
_SHAPE: Final = 3.0
"""The shape of a Pareto variable, as in netem; its mean is 1.5 and its variance 0.75."""
_PARETO_MEAN, _PARETO_DEVIATION = _SHAPE / (_SHAPE - 1), math.sqrt(0.75)
_MOST_POINTS: Final = 10_000
_UNITS: Final = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_LARGEST: Final = 3600.0


class _Correlated(JitterModel):
    """A jitter whose values for the messages of one ordered pair may depend on each other."""

    correlation: Share = Field(
        0.0, ge=0, lt=1, description="correlation of a message's jitter with that of the one before it"
    )

    def begin(self) -> Jitter:
        """Return the jitter of one trial. Raises TraceError for a bad file."""
        return _Drawn(self.value_of(), self.correlation, self.earliest)

    @property
    def earliest(self) -> float:
        """The most seconds by which a message may be earlier than the delay of its pair."""
        return 0.0

    @property
    def is_ever_early(self) -> bool:
        return self.earliest > 0

    @abstractmethod
    def value_of(self) -> Callable[[float], float]:
        """Return the function from a standard normal variable to the jitter in seconds; it does not fall."""


class HalfNormal(_Correlated):
    """The jitter that a plain duration stands for: messages are late and never early."""

    kind: Literal["half-normal"]
    deviation: Duration = Field(ge=0, le=3600, description="standard deviation")

    def value_of(self) -> Callable[[float], float]:
        return partial(_half_normal, self.deviation / HALF_NORMAL_DEVIATION)


class Normal(_Correlated):
    """A normal variable around the delay of the pair, as netem draws it; it is cut at four deviations."""

    kind: Literal["normal"]
    deviation: Duration = Field(ge=0, le=3600, description="standard deviation")

    @property
    def earliest(self) -> float:
        return _CUT * self.deviation

    def value_of(self) -> Callable[[float], float]:
        return partial(_normal, self.deviation)


class Pareto(_Correlated):
    """A Pareto variable of shape 3 around the delay of the pair: few messages are very late."""

    kind: Literal["pareto"]
    deviation: Duration = Field(ge=0, le=3600, description="standard deviation")

    @property
    def earliest(self) -> float:
        return (_PARETO_MEAN - 1) / _PARETO_DEVIATION * self.deviation

    def value_of(self) -> Callable[[float], float]:
        return partial(_pareto, self.deviation)


class Quantiles(_Correlated):
    """The distribution of measured jitter: what messages take beyond the delay of their pair."""

    kind: Literal["quantiles"]
    file: Path | None = Field(None, description="a share and a value on each line, the shares from 0 to 1")
    points: list[Point] | None = Field(
        None, max_length=_MOST_POINTS, description="the same as a list, instead of a file"
    )
    unit: Literal["us", "ms", "s"] = Field("ms", description="of the values")

    def carried(self) -> JitterModel:
        """Return the same model with the content of the file in it."""
        return self.model_copy(update={"file": None, "points": self._read()})

    def problems(self) -> Problems:
        if (self.file is None) == (self.points is None):
            return [("file", "one of `file` and `points` says what the quantiles are. Give one")]
        wrong = self._wrong(self.points) if self.points is not None else None
        return [] if wrong is None else [(f"points.{wrong[0]}", wrong[1])]

    def problems_of_files(self) -> Problems:
        if self.file is not None:
            self._read()
        return []

    def value_of(self) -> Callable[[float], float]:
        points, scale = self._read(), _UNITS[self.unit]
        return partial(_between, [share for share, _ in points], [value * scale for _, value in points])

    def _read(self) -> list[Point]:
        """Return the points. Raises TraceError for a bad file."""
        if self.points is not None:
            return self.points
        assert self.file is not None, "the experiment was checked"
        points, lines = list[Point](), list[int]()
        for line, text in numbered_lines(self.file):
            try:
                share, value = (float(word) for word in text.split())
            except ValueError:
                raise TraceError(self.file, line, f"is {shown(text)}, not a share and a value") from None
            points.append([share, value])
            lines.append(line)
            if len(points) > _MOST_POINTS:
                raise TraceError(self.file, line, f"is beyond the {_MOST_POINTS:,} that are allowed")
        if (wrong := self._wrong(points)) is not None:
            raise TraceError(self.file, lines[wrong[0]] if lines else 0, wrong[1])
        return points

    def _wrong(self, points: Sequence[Point]) -> tuple[int, str] | None:
        """Return the first point that cannot be, and why; None if all can be."""
        for number, point in enumerate(points):
            if len(point) != 2:
                return number, "has to be a share and a value"
        for number, (_, value) in enumerate(points):
            if not 0 <= value * _UNITS[self.unit] <= _LARGEST:
                return number, f"has the value {value:g} {self.unit}, but jitter is from 0 to 3600 s"
        for number, (before, here) in enumerate(pairwise(points), 1):
            if not (before[0] < here[0] and before[1] <= here[1]):
                return number, "has to have a larger share than the one before, and no smaller value"
        if len(points) < 2 or points[0][0] != 0:
            return 0, "has to be the quantile of the share 0, and at least one has to follow"
        if points[-1][0] != 1:
            return len(points) - 1, "has to be the quantile of the share 1, because it is the last one"
        return None


class _Drawn(Jitter):
    """The jitter of one trial. With a correlation it keeps a number for each pair that has sent something."""

    def __init__(self, value: Callable[[float], float], correlation: float, earliest: float) -> None:
        self.earliest = earliest
        self._value = value
        self._correlation = correlation
        self._rest = math.sqrt(1 - correlation * correlation)
        self._last: dict[int, float] = {}
        """The normal variable of each pair's last message."""

    def draw(self, sender: int, receiver: int, random: Random) -> float:
        normal = random.gauss(0.0, 1.0)
        if self._correlation:
            pair = sender << 32 | receiver
            last = self._last.get(pair)
            if last is not None:
                normal = self._correlation * last + self._rest * normal
            self._last[pair] = normal
        return self._value(normal)


def _normal(deviation: float, normal: float) -> float:
    return deviation * min(max(normal, -_CUT), _CUT)


def _half_normal(sigma: float, normal: float) -> float:
    return -sigma * _NORMAL.inv_cdf(_share_above(normal) / 2)


def _pareto(deviation: float, normal: float) -> float:
    drawn = _share_above(normal) ** (-1 / _SHAPE)
    return float(deviation * (drawn - _PARETO_MEAN) / _PARETO_DEVIATION)


def _between(shares: Sequence[float], values: Sequence[float], normal: float) -> float:
    """Return the quantile of a normal variable's share, on the line between two points."""
    share = _share_above(-normal)
    above = max(bisect_left(shares, share), 1)
    below = above - 1
    part = (share - shares[below]) / (shares[above] - shares[below])
    return values[below] + part * (values[above] - values[below])


def _share_above(normal: float) -> float:
    """Return the share of a standard normal variable above a value; above 0 up to 38 deviations."""
    return 0.5 * math.erfc(normal / math.sqrt(2))
