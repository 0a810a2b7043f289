"""What a paper says that a number is, and what a measured one has to keep to agree with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["held", "better", "missed"]


@dataclass(frozen=True, slots=True)
class Bound:
    """The values that agree with a paper's number, in the paper's unit."""

    text: str
    """The number as the paper has it, with its unit and with what "about" is worth here."""
    unit: str
    """"share" is 0 to 1, and is shown in percent."""
    low: float = float("-inf")
    high: float = float("inf")
    strict: bool = False
    """The limits themselves do not agree."""
    better: Literal["lower", "higher"] | None = None
    """On which side a value beyond the limits is better than the paper's."""

    def judge(self, value: float) -> Outcome:
        """What a measured value is against the paper's."""
        if self.low < value < self.high or (not self.strict and value in (self.low, self.high)):
            return "held"
        beyond = "higher" if value >= self.high else "lower"
        return "better" if beyond == self.better else "missed"


def said(value: float, unit: str) -> str:
    """A value with its unit, if it has one: "331 ms", "98.5 %", "1.68"."""
    if unit == "share":
        return f"{value * 100:.4g} %"
    number = f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"
    return f"{number} {unit}".rstrip()


def about(
    value: float, unit: str, within: float | None = None, better: Literal["lower", "higher"] | None = None
) -> Bound:
    """The paper prints `value`. Up to `within` to either side agrees: by default a tenth of it, 5 points for
    a share.
    """
    if within is None:
        within = 0.05 if unit == "share" else abs(value) / 10
    give = f"{within * 100:.4g} points" if unit == "share" else said(within, unit)
    text = f"about {said(value, unit)} (± {give})"
    return Bound(text, unit, value - within, value + within, better=better)


def between(low: float, high: float, unit: str, better: Literal["lower", "higher"] | None = None) -> Bound:
    """The paper prints a span."""
    return Bound(f"{said(low, unit)} to {said(high, unit)}", unit, low, high, better=better)


def at_least(value: float, unit: str) -> Bound:
    """The paper prints a lower limit."""
    return Bound(f"at least {said(value, unit)}", unit, low=value)


def at_most(value: float, unit: str) -> Bound:
    """The paper prints an upper limit."""
    return Bound(f"at most {said(value, unit)}", unit, high=value)


def above(value: float, unit: str) -> Bound:
    """The paper says that it is more."""
    return Bound(f"above {said(value, unit)}", unit, low=value, strict=True)


def below(value: float, unit: str) -> Bound:
    """The paper says that it is less."""
    return Bound(f"below {said(value, unit)}", unit, high=value, strict=True)
