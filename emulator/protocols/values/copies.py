"""The copies of values that one peer holds."""

from __future__ import annotations

from collections.abc import Iterator

from trellis.v1.values import StoredValue


class Copy:
    """One copy."""

    __slots__ = ("since", "value")

    def __init__(self, value: StoredValue, since: float) -> None:
        self.value = value
        self.since = since
        """When another peer last said that this one is to hold the copy (s)."""


class Copies:
    """The newest version of each value that one peer was given."""

    def __init__(self) -> None:
        self._copies: dict[int, Copy] = {}
        self.bytes = 0
        """The size of all payloads."""

    def __len__(self) -> int:
        return len(self._copies)

    def __iter__(self) -> Iterator[Copy]:
        return iter(list(self._copies.values()))

    def get(self, key: int) -> Copy | None:
        """Return the copy under a key, None if there is none."""
        return self._copies.get(key)

    def keep(self, value: StoredValue, now: float) -> Copy:
        """Keep a value, unless a later version is there. Returns the copy that is there now."""
        copy = self._copies.get(value.key)
        if copy is None:
            copy = self._copies[value.key] = Copy(value, now)
            self.bytes += len(value.payload)
        elif copy.value.version < value.version:
            self.bytes += len(value.payload) - len(copy.value.payload)
            copy.value = value
        copy.since = now
        return copy

    def drop(self, key: int) -> None:
        """Forget the copy under a key, if there is one."""
        copy = self._copies.pop(key, None)
        if copy is not None:
            self.bytes -= len(copy.value.payload)
