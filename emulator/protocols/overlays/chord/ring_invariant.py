"""What Chord promises of its ring (Zave: Reasoning about Identifier Spaces, IEEE TSE 43(12), 2017)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emulator.contract.invariants import Broken, PeersUp
from emulator.protocols.overlays.chord.overlay import Chord
from emulator.protocols.overlays.chord.virtual_nodes import VirtualNodes


def broken(up: PeersUp) -> Broken | None:
    """Return where the first live successors form no ring, several, or one that goes round more than once.

    Peers that lead into the ring but are not on it yet are Zave's appendages, which may be there. Each
    virtual node counts by itself.
    """
    of_peer = {node.environment.peer: peer for peer, node in _nodes(up)}
    found = _broken({node.environment.peer: node for _, node in _nodes(up) if node.ready})
    return found and Broken([*dict.fromkeys(of_peer[node] for node in found.peers)], found.text)


def _nodes(up: PeersUp) -> Iterator[tuple[int, Any]]:
    """Yield the nodes of the ring with their peers."""
    yield from up.parts(Chord)
    for peer, several in up.parts(VirtualNodes):
        for node in several.nodes:
            yield peer, node


def _broken(joined: dict[int, Any]) -> Broken | None:
    """Return which of these nodes, by their numbers, form no ring."""
    after: dict[int, int] = {}
    for peer, overlay in joined.items():
        living = [contact.peer for contact in overlay.state.successors if contact.peer in joined]
        if living:
            after[peer] = living[0]
        elif len(joined) > 1:
            return Broken([peer], "none of its successors is up")
    leads_to: dict[int, int] = {}
    rings: list[list[int]] = []
    for peer in after:
        walked: list[int] = []
        place = peer
        while place in after and place not in leads_to:
            leads_to[place] = -1
            walked.append(place)
            place = after[place]
        if leads_to.get(place, 0) == -1:
            rings.append(walked[walked.index(place) :])
        for each in walked:
            leads_to[each] = len(rings)
    if len(rings) > 1:
        sizes = " and ".join(str(len(ring)) for ring in rings[:5])
        return Broken([ring[0] for ring in rings], f"there are {len(rings)} rings, of {sizes} peers")
    for ring in rings:
        turn = 0
        for here, there in zip(ring, [*ring[1:], ring[0]], strict=True):
            turn += (joined[there].identifier - joined[here].identifier) & joined[here].space.mask
        if len(ring) > 1 and turn != joined[ring[0]].space.size:
            return Broken(ring[:5], "the ring goes round more than once: it is not ordered")
    return None
