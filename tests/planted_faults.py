"""A user's package with three systems of Trellis, each over a Chord that has a fault."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from emulator.contract.identifiers import hash_of_topic
from emulator.contract.invariants import Broken, Invariant, PeersUp
from emulator.contract.protocol import Contact, Environment
from emulator.contract.system import OverlayKind
from emulator.protocols.overlays.chord import Chord, ChordParameters
from emulator.protocols.overlays.lookups import lookups
from emulator.protocols.pubsub.scribe import scribe
from emulator.protocols.values import replicated

LOOKED_AT: Final = 65.0
"""The trial time (s) from which values and trees have to be in order, 20 s after the last fault."""
TOPICS: Final = 4


class LostHandOver(Chord):
    """This Chord leaves its predecessor out of its neighbours, so a store of values over it hands nothing to
    a peer that comes to stand before it."""

    def neighbour_set(self, count: int) -> Sequence[Contact]:
        return list(self.state.successors)[:count]


class StaleRoot(Chord):
    """This Chord tells of no change, so a tree of Scribe over it keeps a root that its topic has left."""

    def _changed(self) -> None: ...


class Unbounded(Chord):
    """This Chord notes each time that a peer could not be reached, and forgets none of them."""

    def __init__(self, environment: Environment, parameters: ChordParameters) -> None:
        super().__init__(environment, parameters)
        self.notes: list[int] = []

    def on_unreachable(self, peer: int) -> None:
        super().on_unreachable(peer)
        self.notes.append(peer)


def _homes(up: PeersUp, key: int) -> Iterator[int]:
    """Yield the peers that take themselves for the successor of the key."""
    return (peer for peer, chord in up.parts(Chord) if chord.ready and chord.next_hop(key) is None)


def lost_hand_over(up: PeersUp) -> Broken | None:
    """Return a value that a peer holds, and no peer whose value it would be."""
    if up.now < LOOKED_AT:
        return None
    stores = up.parts(replicated.ReplicatedValues)
    held = {peer: {copy.value.key for copy in store._copies} for peer, store in stores}
    for key in set().union(*held.values()):
        homes = list(_homes(up, key))
        if homes and not any(key in held[peer] for peer in homes):
            return Broken(homes, "they were not handed over a value of theirs")
    return None


def stale_root(up: PeersUp) -> Broken | None:
    """Return the root of a tree, whose children get events from it, that is not its topic's home."""
    if up.now < LOOKED_AT:
        return None
    for peer, tree in up.parts(scribe.Scribe):
        for topic in range(TOPICS):
            is_root = tree.children(topic) and tree.parent(topic) is None
            if is_root and peer not in _homes(up, hash_of_topic(topic)):
                return Broken([peer], f"it is the root of topic {topic}, whose home is elsewhere")
    return None


def unbounded(up: PeersUp) -> Broken | None:
    """Return the peers with many notes."""
    peers = [peer for peer, chord in up.parts(Unbounded) if len(chord.notes) > 10]
    return Broken(peers, "they keep more than ten notes") if peers else None


def _kind(name: str, planted: type[Chord]) -> OverlayKind:
    invariant = Invariant(name, "It holds.", f"{__name__}:{name}")
    return OverlayKind(f"chord-{name}", "", "", ChordParameters, planted, invariants=(invariant,))


VALUES: Final = replicated.over(_kind("lost_hand_over", LostHandOver))
TREES: Final = scribe.over(_kind("stale_root", StaleRoot))
LOOKUPS: Final = lookups(_kind("unbounded", Unbounded))
