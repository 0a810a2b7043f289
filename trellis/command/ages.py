"""Ages of runs, claims and releases in words."""

from __future__ import annotations


def age_in_words(seconds: float) -> str:
    """Return a time in its largest unit, rounded down."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size:,.0f} {unit}"
    return f"{seconds:.0f} s"
