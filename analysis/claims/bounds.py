"""Bounds: the numbers that a paper gives, and the limits within which a measured one agrees with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["held", "better", "missed"]


@dataclass(frozen=True, slots=True)
class Bound:
    """The values that agree with a paper's number, in the paper's unit."""

    text: str
    """The number as the paper has it, with its unit and the tolerance that "about" stands for."""
    unit: str
    """The unit; "share" is 0 to 1, and is shown in percent."""
    low: float = float("-inf")
    high: float = float("inf")
    strict: bool = False
    """Whether a value that is equal to a limit disagrees."""
    better: Literal["lower", "higher"] | None = None
    """The side on which a value beyond the limits is better than the paper's."""

    def judge(self, value: float) -> Outcome:
        """Return how a measured value compares with the paper's."""
        if self.low < value < self.high or (not self.strict and value in (self.low, self.high)):
            return "held"
        beyond = "higher" if value >= self.high else "lower"
        return "better" if beyond == self.better else "missed"


def said(value: float, unit: str) -> str:
    """Return a value with its unit, if it has one: "331 ms", "98.5 %", "1.68"."""
    if unit == "share":
        return f"{value * 100:.4g} %"
    number = f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"
    return f"{number} {unit}".rstrip()


def about(
    value: float, unit: str, within: float | None = None, better: Literal["lower", "higher"] | None = None
) -> Bound:
    """Return the bound of a printed `value`, from which a value may differ by `within`.

    By default it may differ by a tenth of it, or by 5 points for a share.
    """
    if within is None:
        within = 0.05 if unit == "share" else abs(value) / 10
    give = f"{within * 100:.4g} points" if unit == "share" else said(within, unit)
    text = f"about {said(value, unit)} (± {give})"
    return Bound(text, unit, value - within, value + within, better=better)


def between(low: float, high: float, unit: str, better: Literal["lower", "higher"] | None = None) -> Bound:
    """Return the bound of a printed range."""
    return Bound(f"{said(low, unit)} to {said(high, unit)}", unit, low, high, better=better)


def at_least(value: float, unit: str) -> Bound:
    """Return the bound of a printed lower limit."""
    return Bound(f"at least {said(value, unit)}", unit, low=value)


def at_most(value: float, unit: str) -> Bound:
    """Return the bound of a printed upper limit."""
    return Bound(f"at most {said(value, unit)}", unit, high=value)


def above(value: float, unit: str) -> Bound:
    """Return the bound where the paper says that the value is larger."""
    return Bound(f"above {said(value, unit)}", unit, low=value, strict=True)


def below(value: float, unit: str) -> Bound:
    """Return the bound where the paper says that the value is smaller."""
    return Bound(f"below {said(value, unit)}", unit, high=value, strict=True)
