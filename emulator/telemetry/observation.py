"""An observation of a protocol in the middle of a run, as telemetry keeps it."""

from __future__ import annotations

import math
from operator import index
from typing import Final

LONGEST: Final = 200
"""The most characters of a name or a unit."""
_LARGEST = 1 << 63


class Observation:
    """A value that a component has observed, by its name."""

    __slots__ = ("name", "subject", "unit", "value")

    def __init__(self, name: str, value: float, subject: int | None, unit: str) -> None:
        """Raises TypeError for a value or subject that is no number, or a name or unit that is no text,
        ValueError for a name that is empty, too long or not one line, and a subject that is too large."""
        for what, text in (("name", name), ("unit", unit)):
            if not isinstance(text, str):
                raise TypeError(f"its {what} is {text!r:.80}, which is no text")
            if len(text) > LONGEST or not text.isprintable():
                raise ValueError(f"its {what} is no text of one line with at most {LONGEST} characters")
        if not name:
            raise ValueError("an observation has a name")
        if subject is not None:
            try:
                subject = index(subject)
            except TypeError:
                text = "Give it the whole number of a peer or a thing, or None"
                raise TypeError(f"its subject is {subject!r:.80}. {text}") from None
            if not -_LARGEST <= subject < _LARGEST:
                raise ValueError(f"its subject {subject:.4g} does not fit into 64 bits")
        try:
            number = float("" if isinstance(value, (str, bytes)) else value)
        except OverflowError:
            raise ValueError("its value is too large for a float") from None
        except (TypeError, ValueError):
            raise TypeError(f"its value is {value!r:.80}, which is no number") from None
        self.name = name
        self.value = number if math.isfinite(number) else None
        """The value, None for NaN and infinity, which mean that it was not measured."""
        self.subject = subject
        """The number of a peer or another thing that the observation is about, None if it is about none."""
        self.unit = unit
