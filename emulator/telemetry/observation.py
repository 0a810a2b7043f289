"""An observation of a protocol in the middle of a run, as telemetry keeps it."""

from __future__ import annotations

import math

_LARGEST = 1 << 63
_LONGEST = 1000


class Observation:
    """A value that a component has observed, by its name."""

    __slots__ = ("name", "subject", "unit", "value")

    def __init__(self, name: str, value: float, subject: int | None, unit: str) -> None:
        """Raises TypeError if `value` is no number, `name` or `unit` no text or `subject` no whole number;
        ValueError if `name` is empty or too long, or a number too large."""
        if not (isinstance(name, str) and isinstance(unit, str)):
            wrong = unit if isinstance(name, str) else name
            raise TypeError(f"its name and its unit are texts, but one is {wrong!r}")
        if not 0 < len(name) <= _LONGEST or len(unit) > _LONGEST:
            raise ValueError(f"an observation has a name; it and the unit have at most {_LONGEST} characters")
        if subject is not None and not isinstance(subject, int):
            raise TypeError(f"its subject {subject!r} is no whole number")
        if subject is not None and not -_LARGEST <= subject < _LARGEST:
            raise ValueError(f"its subject {subject} does not fit into 64 bits")
        try:
            number = float(value)
        except OverflowError:
            raise ValueError("its value is larger than any floating-point number") from None
        self.name = name
        self.value = number if math.isfinite(number) else None
        """The value, None for NaN and infinity, which mean that it was not measured."""
        self.subject = subject
        """The number of a peer or another thing that the observation is about, None if it is about none."""
        self.unit = unit
