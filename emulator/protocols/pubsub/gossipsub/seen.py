"""The messages that a peer has seen, and what became of them (v1.0, "Message Cache": the `seen` cache)."""

from __future__ import annotations


class Arrival:
    """A message that came: from whom first, and who sent it since."""

    __slots__ = ("first", "others", "seen_at", "valid_at")

    def __init__(self, first: int, seen_at: float) -> None:
        self.first = first
        self.seen_at = seen_at
        """The time at which it came first (s of trial time)."""
        self.valid_at = -1.0
        """The time at which it was found to be valid (s of trial time); negative while it is validated."""
        self.others: list[int] = []
        """The other peers that sent it; each of them counts once."""


class Seen:
    """The messages of the last while, by number."""

    def __init__(self, ttl: float) -> None:
        """A message is forgotten `ttl` seconds after it came first."""
        self._ttl = ttl
        self._arrivals: dict[int, Arrival] = {}

    def __contains__(self, event: int) -> bool:
        return event in self._arrivals

    def get(self, event: int) -> Arrival | None:
        """Return what is known of a message, None if it was not seen lately."""
        return self._arrivals.get(event)

    def add(self, event: int, sender: int, now: float) -> Arrival:
        """Note that a message came that was not seen before."""
        arrival = self._arrivals[event] = Arrival(sender, now)
        return arrival

    def forget(self, now: float) -> None:
        """Forget old messages."""
        while self._arrivals:
            event = next(iter(self._arrivals))
            if self._arrivals[event].seen_at >= now - self._ttl:
                break
            del self._arrivals[event]
