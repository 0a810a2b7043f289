"""Quantities with units in experiment files: "30 s", "250 ms", "2 h"."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer

_SECONDS = {
    "us": Decimal("0.000001"),
    "ms": Decimal("0.001"),
    "s": Decimal(1),
    "min": Decimal(60),
    "h": Decimal(3600),
    "d": Decimal(86400),
}
_LONGEST, _SHORTEST = 36_525 * 86_400.0, 1e-6
"""The longest and the shortest duration in seconds: a hundred years, and a microsecond."""
_LONGEST_TEXT = 100
_FORM = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]*)\s*")

_PERCENT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*")


def parse_duration(value: Any) -> float:
    """Return the seconds of a duration such as "250 ms".

    Raises ValueError if the unit is missing or unknown, for more than a hundred years, and for less than a
    microsecond that is not 0.
    """
    text = value if isinstance(value, str) and len(value) <= _LONGEST_TEXT else ""
    form = _FORM.fullmatch(text)
    if text.lstrip().startswith("-") and _FORM.fullmatch(text.lstrip()[1:]):
        raise ValueError("a duration is not negative here")
    if form is None or form[2] not in _SECONDS:
        units = ", ".join(_SECONDS)
        raise ValueError(f'a duration needs a number and a unit ({units}), such as "30 s"')
    rough = float(form[1]) * float(_SECONDS[form[2]])
    if rough > _LONGEST:
        raise ValueError("no duration is longer than 36525 d")
    if rough < _SHORTEST and form[1].lower().partition("e")[0].strip("0."):
        raise ValueError("no duration is shorter than 0.001 ms")
    return float(Decimal(form[1]) * _SECONDS[form[2]]) if rough else 0.0


def parse_signed_duration(value: Any) -> float:
    """Return the seconds of a duration that may be negative. Raises what `parse_duration` raises."""
    if isinstance(value, str) and value.lstrip().startswith("-"):
        return -parse_duration(value.lstrip()[1:])
    return parse_duration(value)


def format_duration(seconds: float) -> str:
    """Return the shortest exact text of a duration: 90.0 -> "90 s", 0.25 -> "250 ms"."""
    exact = Decimal(repr(seconds))
    number, unit = (exact * 1000, "ms") if 0 < abs(seconds) < 1 else (exact, "s")
    return f"{number.normalize():f} {unit}"


def parse_share(value: Any) -> Any:
    """Return the number that a share in percent is, such as 0.01 for "1 %"; any other value as it is.

    Raises ValueError for a text that is no share.
    """
    if not isinstance(value, str):
        return value
    form = _PERCENT.fullmatch(value) if len(value) <= _LONGEST_TEXT else None
    if form is None:
        raise ValueError('a share is a number such as 0.01, or "1 %"')
    return float(Decimal(form[1]) / 100)


def parse_signed_share(value: Any) -> Any:
    """Return the number that a share is, which may be negative. Raises what `parse_share` raises."""
    if isinstance(value, str) and value.lstrip().startswith("-"):
        return -float(parse_share(value.lstrip()[1:]))
    return parse_share(value)


Share = Annotated[float, BeforeValidator(parse_share)]
"""A share of something, which may be written in percent."""
SignedShare = Annotated[float, BeforeValidator(parse_signed_share)]
"""A share of something, which may be written in percent and may be negative."""
Duration = Annotated[float, BeforeValidator(parse_duration), PlainSerializer(format_duration)]
"""A duration in seconds, which is written with a unit."""
SignedDuration = Annotated[float, BeforeValidator(parse_signed_duration), PlainSerializer(format_duration)]
"""A duration in seconds, which is written with a unit and may be negative."""

RATE_UNITS = {
    "bit/s": Decimal(1),
    "kbit/s": Decimal(1000),
    "Mbit/s": Decimal(10**6),
    "Gbit/s": Decimal(10**9),
}
"""The bits per second of each unit of a rate."""
_FASTEST = 10**12
_RATE_FORM = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+/s)\s*")


def parse_rate(value: Any) -> int:
    """Return the bits per second of a rate such as "20 Mbit/s".

    Raises ValueError if the unit is missing or unknown, for less than a bit or more than 1,000 Gbit per
    second, and for a part of a bit.
    """
    form = _RATE_FORM.fullmatch(value) if isinstance(value, str) and len(value) <= _LONGEST_TEXT else None
    if form is None or form[2] not in RATE_UNITS:
        raise ValueError(f'a rate needs a number and a unit ({", ".join(RATE_UNITS)}), such as "20 Mbit/s"')
    bits = Decimal(form[1]) * RATE_UNITS[form[2]]
    if not 1 <= bits <= _FASTEST or bits != int(bits):
        raise ValueError("a rate is a whole number of bits per second, from 1 bit/s to 1000 Gbit/s")
    return int(bits)


def parse_rate_or_0(value: Any) -> int:
    """Return the bits per second of a rate, which may be "0 bit/s". Raises what `parse_rate` raises."""
    form = _RATE_FORM.fullmatch(value) if isinstance(value, str) and len(value) <= _LONGEST_TEXT else None
    return 0 if form is not None and form[2] in RATE_UNITS and not Decimal(form[1]) else parse_rate(value)


def format_rate(bits: int) -> str:
    """Return the shortest exact text of a rate: 20000000 -> "20 Mbit/s"."""
    unit, size = next((u, s) for u, s in reversed(RATE_UNITS.items()) if bits >= s or u == "bit/s")
    return f"{(Decimal(bits) / size).normalize():f} {unit}"


Rate = Annotated[int, BeforeValidator(parse_rate), PlainSerializer(format_rate)]
"""A rate in bit/s, which is written with a unit."""
RateOr0 = Annotated[int, BeforeValidator(parse_rate_or_0), PlainSerializer(format_rate)]
"""A rate in bit/s, which is written with a unit and may be 0."""
