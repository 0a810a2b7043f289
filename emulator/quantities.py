"""Quantities with units in experiment files: "30 s", "250 ms", "2 h"."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer

_SECONDS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_FORM = re.compile(r"\s*(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*([A-Za-z]*)\s*")


def parse_duration(value: Any) -> float:
    """Seconds of a duration such as "250 ms". Raises ValueError if the unit is missing or unknown."""
    form = _FORM.fullmatch(value) if isinstance(value, str) else None
    if form is None or form[2] not in _SECONDS:
        units = ", ".join(_SECONDS)
        raise ValueError(f'a duration needs a number and a unit ({units}), such as "30 s"')
    return float(form[1]) * _SECONDS[form[2]]


def format_duration(seconds: float) -> str:
    """The shortest exact way to write it: 90.0 -> "90 s", 0.25 -> "250 ms"."""
    if 0 < seconds < 1:
        return f"{seconds * 1000:.12g} ms"
    return f"{seconds:.12g} s"


Duration = Annotated[float, BeforeValidator(parse_duration), PlainSerializer(format_duration)]
"""Seconds, written with a unit."""
