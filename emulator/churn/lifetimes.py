"""Distributions of the time that a peer stays up or away."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Lifetime(Protocol):
    """A positive random time in seconds."""

    @property
    def mean(self) -> float: ...

    def draw(self, count: int, random: np.random.Generator) -> NDArray[np.float64]: ...

    def draw_length_biased(self, count: int, random: np.random.Generator) -> NDArray[np.float64]:
        """Return the whole lengths of intervals that cover a fixed moment of a process in equilibrium.

        Long intervals cover more moments, so the density is that of `draw` times the length. The rest of such
        an interval after the moment is a uniform part of it (the renewal process's equilibrium).
        """
        ...


@dataclass(frozen=True, slots=True)
class Exponential:
    mean: float

    def draw(self, count: int, random: np.random.Generator) -> NDArray[np.float64]:
        return random.exponential(self.mean, count)

    def draw_length_biased(self, count: int, random: np.random.Generator) -> NDArray[np.float64]:
        return random.gamma(2.0, self.mean, count)


@dataclass(frozen=True, slots=True)
class Pareto:
    """P(X > x) = (least / x) ** shape, with `least` from the mean; `shape` above 1."""

    mean: float
    shape: float

    def draw(self, count: int, random: np.random.Generator) -> NDArray[np.float64]:
        return self._above_least(self.shape, count, random)

    def draw_length_biased(self, count: int, random: np.random.Generator) -> NDArray[np.float64]:
        return self._above_least(self.shape - 1, count, random)

    def _above_least(self, shape: float, count: int, random: np.random.Generator) -> NDArray[np.float64]:
        least = self.mean * (self.shape - 1) / self.shape
        with np.errstate(over="ignore"):
            return least * (1.0 - random.random(count)) ** (-1.0 / shape)


@dataclass(frozen=True, slots=True)
class Lognormal:
    median: float
    sigma: float

    @property
    def mean(self) -> float:
        return self.median * math.exp(self.sigma**2 / 2)

    def draw(self, count: int, random: np.random.Generator) -> NDArray[np.float64]:
        return random.lognormal(math.log(self.median), self.sigma, count)

    def draw_length_biased(self, count: int, random: np.random.Generator) -> NDArray[np.float64]:
        return random.lognormal(math.log(self.median) + self.sigma**2, self.sigma, count)


@dataclass(frozen=True, slots=True)
class Weibull:
    shape: float
    scale: float

    @property
    def mean(self) -> float:
        return self.scale * math.gamma(1 + 1 / self.shape)

    def draw(self, count: int, random: np.random.Generator) -> NDArray[np.float64]:
        return self.scale * random.weibull(self.shape, count)

    def draw_length_biased(self, count: int, random: np.random.Generator) -> NDArray[np.float64]:
        return self.scale * random.gamma(1 + 1 / self.shape, 1.0, count) ** (1 / self.shape)


@dataclass(frozen=True, slots=True)
class Mixture:
    """A mixture: one of `parts`, each with its probability."""

    parts: Sequence[tuple[float, Lifetime]]

    @property
    def mean(self) -> float:
        return sum(share * part.mean for share, part in self.parts)

    def draw(self, count: int, random: np.random.Generator) -> NDArray[np.float64]:
        which = random.choice(len(self.parts), count, p=[share for share, _ in self.parts])
        return np.choose(which, [part.draw(count, random) for _, part in self.parts])

    def draw_length_biased(self, count: int, random: np.random.Generator) -> NDArray[np.float64]:
        weight = [share * part.mean / self.mean for share, part in self.parts]
        which = random.choice(len(self.parts), count, p=weight)
        return np.choose(which, [part.draw_length_biased(count, random) for _, part in self.parts])
