"""A peer's place on the interest ring: how it takes its first place and each later one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from emulator.contract.identifiers import BITS
from emulator.contract.protocol import Environment
from emulator.protocols.overlays.oscar.overlay import Oscar
from emulator.protocols.pubsub.magnet.membership import InterestMembership
from emulator.protocols.pubsub.magnet.placement import most_similar
from trellis.v1.overlay import Profile

_AGAIN: Final = 1.0
"""The seconds after which a peer that found no place at the hash of its name looks for one again."""


class Seat:
    """Runs Algorithm 1, and runs it again without peers that do not answer."""

    def __init__(
        self,
        environment: Environment,
        ring: Oscar,
        membership: InterestMembership,
        profile: Callable[[], Profile],
        settled: Callable[[], None],
    ) -> None:
        """`settled` is called each time that the peer has taken another place."""
        self._environment = environment
        self._ring = ring
        self._membership = membership
        self._profile = profile
        self._settled = settled
        self.under_way = False
        self.taken = 0
        """The number of places that this peer has had."""
        self._excluded: set[int] = set()
        self._contacts: Sequence[int] = ()

    def take(self, contacts: Sequence[int]) -> None:
        """Take the place behind the most similar peer or, with an empty view, at the hash of this peer's
        name.

        `contacts` are asked in the second case. A peer stays where it is if the most similar peer is its
        predecessor, or if it knows no other peer.
        """
        self._excluded.clear()
        self._contacts = contacts
        self._try()

    def take_hashed(self, contacts: Sequence[int]) -> None:
        """Take the place at the hash of this peer's name, whatever the views say."""
        self._settle_at_hash(contacts, None)

    def _settle_at_hash(self, contacts: Sequence[int], failed: Callable[[], None] | None) -> None:
        self.under_way = True
        # The first bits of the wider identifier are the hash, so the place is as uniform as in a hashed ring.
        place = self._environment.identifier << (self._ring.space.bits - BITS)
        self._ring.settle_at(place, contacts, self._arrived, failed)

    def _try(self) -> None:
        view = self._membership.known()
        similar = most_similar(self._profile(), view, self._excluded, self._environment.random)
        if similar is None:
            self.under_way = False
            if not self._ring.ready:
                self._settle_at_hash(self._contacts, self._try_later)
            return
        before = self._ring.ring.predecessor
        if self._ring.ready and before is not None and before.peer == similar.peer:
            self.under_way = False
            return
        self.under_way = True
        self._ring.settle_behind(similar.peer, self._arrived, lambda: self._exclude(similar.peer))

    def _try_later(self) -> None:
        """Run the algorithm again later: by then there may be views, and contacts that are on the ring."""
        self._environment.set_timer(
            _AGAIN,
            lambda: self._environment.find_contacts(lambda found: self.take(found or self._contacts)),
        )

    def _exclude(self, peer: int) -> None:
        self._excluded.add(peer)
        self._try()

    def _arrived(self) -> None:
        self.under_way = False
        self.taken += 1
        self._settled()
