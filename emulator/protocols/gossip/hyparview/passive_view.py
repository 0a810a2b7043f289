"""The passive view of HyParView: peers to replace failed neighbours with (section 4.2)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from random import Random

from emulator.contract.draws import below


class PassiveView:
    """Up to `size` different peers, in a fixed order so that draws are the same in each run."""

    def __init__(self, size: int, random: Random) -> None:
        self._size = size
        self._random = random
        self._peers: list[int] = []

    def __len__(self) -> int:
        return len(self._peers)

    def __contains__(self, peer: int) -> bool:
        return peer in self._peers

    def add(self, peer: int) -> None:
        """Add a peer, in the place of a random one if the view is full (addNodePassiveView)."""
        self._add(peer, [])

    def remove(self, peer: int) -> None:
        """Remove a peer, if it is there."""
        if peer in self._peers:
            self._peers.remove(peer)

    def integrate(self, peers: Sequence[int], sent: Sequence[int]) -> None:
        """Add the peers of a shuffle. They take the places of those that were `sent` to the other peer first,
        then random ones (section 4.4)."""
        spare = [peer for peer in sent if peer in self._peers]
        for peer in peers:
            self._add(peer, spare)

    def draw(self, without: Collection[int]) -> int | None:
        """Return a random peer that is not among these, None if there is none."""
        left = [peer for peer in self._peers if peer not in without]
        return left[below(self._random, len(left))] if left else None

    def sample(self, count: int) -> list[int]:
        """Return up to `count` random peers."""
        return self._random.sample(self._peers, min(count, len(self._peers)))

    def _add(self, peer: int, spare: list[int]) -> None:
        if peer in self._peers:
            return
        if len(self._peers) >= self._size:
            if spare:
                self._peers.remove(spare.pop())
            else:
                del self._peers[below(self._random, len(self._peers))]
        self._peers.append(peer)
