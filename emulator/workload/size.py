"""How large a workload may be."""

from __future__ import annotations

MOST_ROWS = 5_000_000
"""Lookups, clients with their sessions, interests in ranges, and what packages draw for a table."""
MOST_SUBSCRIPTIONS = 20_000_000
MOST_VALUES = 20_000_000
"""Attributes of all events."""


def more(what: str, number: float, most: int, mend: str) -> str:
    """Say that a trial may not have so many."""
    return f"makes {number:.3g} {what}, more than the {most:,} that a trial may have. {mend}"
