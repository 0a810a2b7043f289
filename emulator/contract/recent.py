"""Sets of things that were seen lately."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable

from mypy_extensions import i64

from emulator.compact.number_sets import NumberSet
from emulator.contract.protocol import Environment


class _Forgetful(ABC):
    """A set that forgets: an entry stays for `lifetime` seconds at least and twice that at most."""

    def __init__(self, environment: Environment, lifetime: float) -> None:
        self._environment = environment
        self._lifetime = lifetime
        self._turns_at = environment.now + lifetime

    def _look_at_clock(self) -> None:
        """Forget the older half of the entries for each turn of the clock that is due."""
        now = self._environment.now
        if now >= self._turns_at:
            self._turn()
            if now >= self._turns_at + self._lifetime:
                self._turn()
            self._turns_at = now + self._lifetime

    @abstractmethod
    def _turn(self) -> None:
        """Turn the clock: new entries become old, and old ones are forgotten."""


class Recent(_Forgetful):
    """A forgetful set of hashable entries."""

    def __init__(self, environment: Environment, lifetime: float) -> None:
        super().__init__(environment, lifetime)
        self._new: set[Hashable] = set()
        self._old: set[Hashable] = set()

    def __contains__(self, entry: Hashable) -> bool:
        self._look_at_clock()
        return entry in self._new or entry in self._old

    def add(self, entry: Hashable) -> bool:
        """Add the entry. Returns whether it was new."""
        if entry in self:
            return False
        self._new.add(entry)
        return True

    def discard(self, entry: Hashable) -> None:
        """Forget the entry now."""
        self._new.discard(entry)
        self._old.discard(entry)

    def _turn(self) -> None:
        self._old, self._new = self._new, set()


class RecentNumbers(_Forgetful):
    """A forgetful set of numbers, packed because events of a large trial leave many of them at each peer."""

    def __init__(self, environment: Environment, lifetime: float) -> None:
        super().__init__(environment, lifetime)
        self._new = NumberSet()
        self._old = NumberSet()

    def add(self, number: i64) -> bool:
        """Add the number. Returns whether it was new."""
        self._look_at_clock()
        return number not in self._old and self._new.add(number)

    def _turn(self) -> None:
        self._old, self._new = self._new, NumberSet()


class Newest:
    """A set that forgets: it keeps the `count` entries that came last."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._entries: dict[Hashable, None] = {}

    def __contains__(self, entry: Hashable) -> bool:
        return entry in self._entries

    def add(self, entry: Hashable) -> bool:
        """Add the entry. Returns whether it was new."""
        if entry in self._entries:
            return False
        self._entries[entry] = None
        if len(self._entries) > self._count:
            del self._entries[next(iter(self._entries))]
        return True
