"""Which messages carry an event. The others tell of it, ask for it, or look for those who want it."""

from __future__ import annotations

CARRIERS = frozenset({"EventData"})
"""Names of messages. What a peer gets in one of them is a copy of the event."""
