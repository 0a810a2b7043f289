"""The rows that the peers of a host have in packed columns."""

from __future__ import annotations

from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64

from emulator.compact.number_maps import ABSENT, NumberMap

NO_ROW: Final[i64] = -1
_DIRECT: Final[i64] = 1 << 20
"""Peers with lower numbers are found by one look into a list."""


class PeerRows:
    """A row for each peer of a host, the same in all its lives, numbered from 0 on."""

    def __init__(self) -> None:
        self._rows = vec[i64]()
        self._others = NumberMap()
        self._count: i64 = 0

    def find(self, peer: i64) -> i64:
        """Return the peer's row, or `NO_ROW`."""
        if peer < len(self._rows):
            return self._rows[peer] if peer >= 0 else NO_ROW
        found = self._others.get(peer) if peer >= _DIRECT else ABSENT
        return NO_ROW if found == ABSENT else found

    def row(self, peer: i64) -> i64:
        """Return the peer's row, a new one if it has none."""
        found = self.find(peer)
        if found != NO_ROW:
            return found
        if peer >= _DIRECT:
            self._others.put(peer, self._count)
        else:
            while len(self._rows) <= peer:
                self._rows = append(self._rows, NO_ROW)
            self._rows[peer] = self._count
        self._count += 1
        return self._count - 1
