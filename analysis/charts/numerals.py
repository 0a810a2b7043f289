"""Numbers for readers: three significant digits, percent for shares, the unit beside them."""

from __future__ import annotations

import math
import re

THIN_SPACE = "\u2009"
MINUS = "\u2212"


def is_share(unit: str) -> bool:
    """Return whether values of `unit` lie between 0 and 1 and are shown in percent."""
    return unit == "share"


def shown_unit(unit: str) -> str:
    """Return the unit that stands beside a shown number: "%" for shares."""
    return "%" if is_share(unit) else unit


def unit_beside(title: str, unit: str) -> str:
    """Return the unit that stands beside a title, "" if the title says it, such as "Lookup hops" or
    "Last delivery hop"."""
    told = shown_unit(unit)
    plural, one = re.escape(told), re.escape(told.removesuffix("s"))
    is_said = len(told) > 2 and re.search(rf"\b{plural}\b|\b{one}$", title, re.IGNORECASE)
    return "" if is_said else told


def shown(value: float, unit: str = "") -> float:
    """Return `value` on the scale on which it is shown."""
    return value * 100 if is_share(unit) else value


def decimals_for(value: float) -> int:
    """Return the number of decimals that leave about three significant digits."""
    if value == 0 or not math.isfinite(value):
        return 0
    return min(max(2 - math.floor(math.log10(abs(value))), 0), 6)


def number(value: float | None, decimals: int | None = None) -> str:
    """Return a number as text: "12,345", "0.0312", "—" for nothing measured.

    Trailing zeros go unless `decimals` is given.
    """
    if value is None or math.isnan(value):
        return "\N{EM DASH}"
    if math.isinf(value):
        return "\N{INFINITY}" if value > 0 else MINUS + "\N{INFINITY}"
    text = f"{abs(value):,.{decimals_for(value) if decimals is None else decimals}f}"
    if decimals is None and "." in text:
        text = text.rstrip("0").rstrip(".")
    negative = value < 0 and any(digit in text for digit in "123456789")
    return MINUS + text if negative else text


def quantity(value: float | None, unit: str = "") -> str:
    """Return a number with its unit: "41.2 ms", "3.1 %", "1 hop"."""
    if value is None or math.isnan(value):
        return "\N{EM DASH}"
    text, told = number(shown(value, unit)), shown_unit(unit)
    if text == "1" and told.isalpha() and len(told) > 2:
        told = told.removesuffix("s")
    return f"{text}\N{NO-BREAK SPACE}{told}" if unit else text


def in_words(value: float | None, unit: str = "") -> str:
    """Return a number with its unit for a line of plain text: "41.2 ms", "not measured"."""
    return "not measured" if value is None else quantity(value, unit).replace("\N{NO-BREAK SPACE}", " ")


def of_seeds(seeds: int, of: int) -> str:
    """Return of how many seeds a mean is, "2 of 3 seeds"; "" if it is of all, or there is none."""
    return f"{seeds} of {of} seeds" if 0 < seeds < of else ""


def with_seeds(text: str, told: str) -> str:
    """Return the text of a mean with what `of_seeds` told, "41.2 (2 of 3 seeds)"."""
    return f"{text} ({told})" if told else text


def estimate(mean: float | None, half: float | None, unit: str = "") -> str:
    """Return a mean and the half width of its interval, both with as many decimals as the interval needs."""
    if mean is None or math.isnan(mean):
        return "\N{EM DASH}"
    if half is None or math.isnan(half):
        return number(shown(mean, unit))
    mean, half = shown(mean, unit), shown(half, unit)
    decimals = (
        decimals_for(mean) if half == 0 else min(max(decimals_for(half) - 1, 0), decimals_for(mean) + 1)
    )
    shown_half = number(half, decimals) if half else "0"
    return f"{number(mean, decimals)}{THIN_SPACE}\N{PLUS-MINUS SIGN}{THIN_SPACE}{shown_half}"
