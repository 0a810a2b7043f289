"""An observation of a protocol in the middle of a run, as telemetry keeps it."""

from __future__ import annotations

import math

_LARGEST = 1 << 63


class Observation:
    """A value that a component has observed, by its name."""

    __slots__ = ("name", "subject", "unit", "value")

    def __init__(self, name: str, value: float, subject: int | None, unit: str) -> None:
        """Raises TypeError if `value` is no number, ValueError if `name` is empty or `subject` too large."""
        if not name:
            raise ValueError("an observation has a name")
        if subject is not None and not -_LARGEST <= subject < _LARGEST:
            raise ValueError(f"its subject {subject} does not fit into 64 bits")
        number = float(value)
        self.name = name
        self.value = number if math.isfinite(number) else None
        """The value, None for NaN and infinity, which mean that it was not measured."""
        self.subject = subject
        """The number of a peer or another thing that the observation is about, None if it is about none."""
        self.unit = unit
