"""A k-bucket: up to k contacts in a range of identifiers, the least recently seen first (section 2.2)."""

from __future__ import annotations

import math

from trellis.v1.overlay import Contact


class KnownContact:
    """A contact, and how it has answered lately."""

    __slots__ = ("contact", "failures", "heard", "locked_until")

    def __init__(self, contact: Contact, heard: float) -> None:
        """`heard` is when its last message came (s of trial time)."""
        self.contact = contact
        self.heard = heard
        self.failures = 0
        """The requests in a row that it left unanswered."""
        self.locked_until = -math.inf
        """The time until which it is not asked, because it was silent."""


class KBucket:
    """The contacts whose identifiers begin with the same `depth` bits as `low`."""

    __slots__ = ("cache", "contacts", "depth", "looked_up", "low", "pinging")

    def __init__(self, low: int, depth: int, looked_up: float) -> None:
        self.low = low
        """The lowest identifier of the range."""
        self.depth = depth
        self.looked_up = looked_up
        """When a lookup in the range last ended."""
        self.contacts: dict[int, KnownContact] = {}
        """The contacts by peer, the least recently seen first."""
        self.cache: dict[int, KnownContact] = {}
        """The replacement cache (section 4.1): peers that may take the place of a stale contact, the most
        recently seen last."""
        self.pinging = False
        """Whether the least recently seen contact is being pinged for a newcomer."""

    def see(self, known: KnownContact, now: float) -> None:
        """Move a contact to the end, because a message of it came."""
        del self.contacts[known.contact.peer]
        self.contacts[known.contact.peer] = known
        known.heard = now

    def least_recently_seen(self) -> KnownContact:
        """Return the first contact. Raises StopIteration if there is none."""
        return next(iter(self.contacts.values()))

    def stale(self, failures: int) -> KnownContact | None:
        """Return the least recently seen contact that has left so many requests unanswered."""
        for known in self.contacts.values():
            if known.failures >= failures:
                return known
        return None

    def remember(self, known: KnownContact, most: int) -> None:
        """Put a peer into the replacement cache as the most recently seen one of at most so many."""
        self.cache.pop(known.contact.peer, None)
        self.cache[known.contact.peer] = known
        if len(self.cache) > most:
            del self.cache[next(iter(self.cache))]

    def replacement(self) -> KnownContact | None:
        """Take the most recently seen peer out of the replacement cache."""
        return self.cache.popitem()[1] if self.cache else None
