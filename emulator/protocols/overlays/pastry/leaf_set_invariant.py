"""The promise of Pastry about its leaf sets (Rowstron and Druschel, Middleware 2001, section 2.1)."""

from __future__ import annotations

from typing import Any

from emulator.contract.identifiers import RING
from emulator.contract.invariants import Broken, PeersUp
from emulator.protocols.overlays.pastry.overlay import Pastry
from emulator.protocols.overlays.ring_order import broken_ring


def broken(up: PeersUp) -> Broken | None:
    """Return where the nearest live leaves clockwise of the peers that have joined form no ring, several, or
    one that is not ordered.

    A peer that was alone until others came is not judged as long as its leaf set is empty.
    """
    joined: dict[int, Any] = {peer: overlay for peer, overlay in up.parts(Pastry) if overlay.ready}
    after: dict[int, int] = {}
    for peer, overlay in joined.items():
        leaves = overlay.leaves
        living = [leaf for _, leaf in [*leaves.right, *reversed(leaves.left)] if leaf in joined]
        if living:
            after[peer] = living[0]
        elif len(leaves):
            return Broken([peer], "none of its leaves is up")
    return broken_ring(after, {peer: each.identifier for peer, each in joined.items()}, RING.mask)
