"""Limits on the size of a workload."""

from __future__ import annotations

MOST_ROWS = 5_000_000
"""The most rows: lookups, clients with their sessions, interests in ranges, and what packages draw for a
table."""
MOST_SUBSCRIPTIONS = 20_000_000
MOST_VALUES = 20_000_000
"""The most attributes of all events together."""
MOST_CELLS = 4_000_000_000
"""The most pairs of a peer and a topic, for kinds that keep a table of them: bytes."""


def more(what: str, number: float, most: int, mend: str) -> str:
    """Return the sentence which says that a trial may not have so many."""
    return f"makes {number:.3g} {what}, more than the {most:,} that a trial may have. {mend}"
