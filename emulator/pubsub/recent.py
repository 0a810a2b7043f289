"""Sets of things that were seen lately."""

from __future__ import annotations

from collections.abc import Hashable

from emulator.protocol import Environment


class Recent:
    """A set that forgets: an entry stays for `lifetime` seconds at least and twice that at most."""

    def __init__(self, environment: Environment, lifetime: float) -> None:
        self._environment = environment
        self._lifetime = lifetime
        self._new: set[Hashable] = set()
        self._old: set[Hashable] = set()
        self._turns_at = environment.now + lifetime

    def __contains__(self, entry: Hashable) -> bool:
        if self._environment.now >= self._turns_at:
            self._forget()
        return entry in self._new or entry in self._old

    def add(self, entry: Hashable) -> bool:
        """Whether it was not there yet."""
        if entry in self:
            return False
        self._new.add(entry)
        return True

    def discard(self, entry: Hashable) -> None:
        """Forget the entry now."""
        self._new.discard(entry)
        self._old.discard(entry)

    def _forget(self) -> None:
        now = self._environment.now
        self._old = self._new if now < self._turns_at + self._lifetime else set()
        self._new = set()
        self._turns_at = now + self._lifetime


class Newest:
    """A set that forgets: it keeps the `count` entries that came last."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._entries: dict[Hashable, None] = {}

    def __contains__(self, entry: Hashable) -> bool:
        return entry in self._entries

    def add(self, entry: Hashable) -> bool:
        """Whether it was not there yet."""
        if entry in self._entries:
            return False
        self._entries[entry] = None
        if len(self._entries) > self._count:
            del self._entries[next(iter(self._entries))]
        return True
