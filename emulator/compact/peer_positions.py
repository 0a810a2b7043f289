"""Places of peers in a list that is made for one use."""

from __future__ import annotations

from typing import Final

from librt.vecs import vec
from mypy_extensions import i64

_FIRST_SLOTS: Final = 256
NOWHERE: Final[i64] = -1


class PeerPositions:
    """The places of peers in a list: a hash table of packed numbers that is cleared in no time.

    One table serves all peers of a process, because no peer keeps it while another one acts.
    """

    __slots__ = ("_count", "_mask", "_peers", "_places", "_turn", "_turns")

    def __init__(self) -> None:
        self._turn: i64 = 0
        self._count: i64 = 0
        self._resize(_FIRST_SLOTS)

    def clear(self) -> None:
        """Forget all peers."""
        self._turn += 1
        self._count = 0

    def note(self, peer: i64, place: i64) -> i64:
        """Note the place of a peer, unless one was noted before. Returns the place that is noted now."""
        slot = self._slot(peer)
        if self._turns[slot] == self._turn:
            return self._places[slot]
        self._turns[slot] = self._turn
        self._peers[slot] = peer
        self._places[slot] = place
        self._count += 1
        if 2 * self._count > self._mask:
            self._grow()
        return place

    def find(self, peer: i64) -> i64:
        """Return the place that was noted for the peer, or `NOWHERE`."""
        slot = self._slot(peer)
        return self._places[slot] if self._turns[slot] == self._turn else NOWHERE

    def _slot(self, peer: i64) -> i64:
        """Return the slot of the peer, or the free one that it would take."""
        slot = peer & self._mask
        while self._turns[slot] == self._turn and self._peers[slot] != peer:
            slot = (slot + 1) & self._mask
        return slot

    def _grow(self) -> None:
        peers, places, turns, turn = self._peers, self._places, self._turns, self._turn
        self._resize(2 * len(peers))
        self.clear()
        slot: i64
        for slot in range(len(peers)):
            if turns[slot] == turn:
                self.note(peers[slot], places[slot])

    def _resize(self, slots: i64) -> None:
        nothing = [i64(0)] * int(slots)
        self._mask: i64 = slots - 1
        self._peers = vec[i64](nothing)
        self._places = vec[i64](nothing)
        self._turns = vec[i64]([i64(-1)] * int(slots))
