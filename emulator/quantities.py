"""Quantities with units in experiment files: "30 s", "250 ms", "2 h"."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer

_SECONDS = {
    "ms": Decimal("0.001"),
    "s": Decimal(1),
    "min": Decimal(60),
    "h": Decimal(3600),
    "d": Decimal(86400),
}
_LONGEST = 1e15
_FORM = re.compile(r"\s*(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*([A-Za-z]*)\s*")


def parse_duration(value: Any) -> float:
    """Seconds of a duration such as "250 ms". Raises ValueError if the unit is missing or unknown."""
    form = _FORM.fullmatch(value) if isinstance(value, str) else None
    if form is None or form[2] not in _SECONDS:
        units = ", ".join(_SECONDS)
        raise ValueError(f'a duration needs a number and a unit ({units}), such as "30 s"')
    if float(form[1]) > _LONGEST:
        raise ValueError("no duration is that long")
    return float(Decimal(form[1]) * _SECONDS[form[2]])


def format_duration(seconds: float) -> str:
    """The shortest exact way to write it: 90.0 -> "90 s", 0.25 -> "250 ms"."""
    exact = Decimal(repr(seconds))
    number, unit = (exact * 1000, "ms") if 0 < seconds < 1 else (exact, "s")
    return f"{number.normalize():f} {unit}"


Duration = Annotated[float, BeforeValidator(parse_duration), PlainSerializer(format_duration)]
"""Seconds, written with a unit."""
