"""Counts of what a server refused, by reason."""

from __future__ import annotations

import threading
from collections import Counter

BAD_TOKEN = "bad_token"
"""A call or request that shows no secret that opens it."""
TOO_LARGE = "too_large"
"""Headers, or bytes before a good secret, beyond what the server takes."""
TOO_MANY = "too_many_connections"
"""A connection beyond the places of all, or of its source."""
TOO_SLOW = "too_slow"
"""A connection on which no whole request, or no good secret, came in time."""
REASONS = (BAD_TOKEN, TOO_LARGE, TOO_MANY, TOO_SLOW)


class Refusals:
    """The refusals of a server since it began. Any thread may count and read them."""

    def __init__(self) -> None:
        self._counts = Counter(dict.fromkeys(REASONS, 0))
        self._changing = threading.Lock()

    def add(self, reason: str) -> None:
        """Count one refusal for one of the `REASONS`."""
        with self._changing:
            self._counts[reason] += 1

    def counts(self) -> dict[str, int]:
        """Return the count of each reason."""
        with self._changing:
            return dict(self._counts)
