"""Chord peers in lockstep, and what their successor lists, fingers and predecessors should be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lookup_world import LookupWorld

from emulator.contract.identifiers import BITS, ClockwiseRing, hash_of_peer
from emulator.contract.protocol import Contact, Environment, LookupService
from emulator.protocols.overlays.chord import Chord, ChordParameters
from emulator.protocols.overlays.lookups import Lookups


def parameters(**fields: Any) -> ChordParameters:
    """Return parameters by which peers stabilise at every other step and answers come in time."""
    return ChordParameters.model_validate(
        {"stabilization": "1 s", "timeout": "2 s", "fix_fingers": "all"} | fields
    )


class ChordWorld(LookupWorld):
    """Peers with lookups over Chord."""

    def __init__(
        self,
        identifiers: Sequence[int],
        bits: int = BITS,
        settings: ChordParameters | None = None,
        started: int | None = None,
    ) -> None:
        """Peer n has the n-th identifier; the first `started` peers start, all unless it is given."""
        self.space = ClockwiseRing(bits)
        self.settings = settings or parameters()
        self.chords: dict[int, Chord] = {}
        self._identifiers = identifiers
        super().__init__(identifiers, self._make, len(identifiers) if started is None else started)

    def _make(self, environment: Environment) -> LookupService:
        chord = Chord(
            environment.channel("overlay"),
            self.settings,
            space=self.space,
            identifier=self._identifiers[environment.peer],
        )
        self.chords[environment.peer] = chord
        return Lookups(environment, chord)

    def crash(self, peers: Iterable[int]) -> None:
        gone = [*peers]
        super().crash(gone)
        for peer in gone:
            del self.chords[peer]

    def leave(self, peer: int) -> None:
        """Have the peer leave gracefully."""
        self.world.protocols[peer].stop(graceful=True)
        self.world.exchange()
        self.crash([peer])

    def ring(self) -> list[int]:
        """Return the peers that are up in the order of their identifiers."""
        return sorted(self.up, key=self.identifiers.__getitem__)

    def successor(self, key: int) -> int:
        """Return the peer that a key belongs to."""
        return min(self.up, key=lambda peer: (self.identifiers[peer] - key) & self.space.mask)

    def wrong(self) -> list[tuple[int, str]]:
        """Return where a peer's neighbours are not the true ones: (peer, what is wrong)."""
        ring, found = self.ring(), []
        for place, peer in enumerate(ring):
            after = [ring[(place + n) % len(ring)] for n in range(1, len(ring))]
            state = self.chords[peer].state
            if not state.ready:
                found.append((peer, "not joined"))
            if numbers(state.successors) != after[: self.settings.successors]:
                found.append((peer, "successor list"))
            before = None if state.predecessor is None else state.predecessor.peer
            if before != (ring[place - 1] if after else None):
                found.append((peer, "predecessor"))
        return found

    def fingers(self, peer: int) -> list[int]:
        """Return the peers' identifiers in the finger table as the papers show it, its successor included."""
        state = self.chords[peer].state
        first = state.successors.first
        assert first is not None
        shown = [state.fingers.finger(exponent) for exponent in range(self.space.bits)]
        least = state.fingers.first_beyond(first)
        return [
            first.identifier
            if exponent < least
            else state.me.identifier
            if finger is None
            else finger.identifier
            for exponent, finger in enumerate(shown)
        ]

    def true_fingers(self, peer: int) -> list[int]:
        own = self.identifiers[peer]
        starts = [(own + (1 << exponent)) & self.space.mask for exponent in range(self.space.bits)]
        return [self.identifiers[self.successor(start)] for start in starts]


def numbers(contacts: Iterable[Contact]) -> list[int]:
    return [contact.peer for contact in contacts]


def hashed(peers: int) -> list[int]:
    return [hash_of_peer(peer) for peer in range(peers)]
