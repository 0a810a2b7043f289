"""The promise of Chord about its ring (Zave: Reasoning about Identifier Spaces, IEEE TSE 43(12), 2017)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emulator.contract.invariants import Broken, PeersUp
from emulator.protocols.overlays.chord.overlay import Chord
from emulator.protocols.overlays.chord.virtual_nodes import VirtualNodes
from emulator.protocols.overlays.ring_order import broken_ring


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
    mask = next((overlay.space.mask for overlay in joined.values()), 0)
    return broken_ring(after, {peer: overlay.identifier for peer, overlay in joined.items()}, mask)
