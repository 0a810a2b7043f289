"""Vitis promises of its ring that each peer has its ring neighbours in its routing table (section III.A)."""

from __future__ import annotations

from typing import Any, Final

from emulator.contract.identifiers import RING
from emulator.contract.invariants import Broken, Invariant, PeersUp
from emulator.protocols.overlays.ring_order import broken_both_ways
from emulator.protocols.overlays.small_world.overlay import SmallWorld


def broken(up: PeersUp) -> Broken | None:
    """Return where the nearest live peers of the routing tables, clockwise or anticlockwise, form several
    rings, or one that is not ordered.

    Peers that lead into the ring but are not on it yet may be there.
    """
    joined: dict[int, Any] = {peer: overlay for peer, overlay in up.parts(SmallWorld) if overlay.ready}
    identifiers = {peer: overlay.identifier for peer, overlay in joined.items()}
    after: dict[int, int] = {}
    before: dict[int, int] = {}
    for peer, overlay in joined.items():
        table = [link.peer for link in overlay.table()]
        living = [other for other in table if other in joined]
        if living:
            here = identifiers[peer]
            away = {other: (identifiers[other] - here) & RING.mask for other in living}
            after[peer] = min(living, key=away.__getitem__)
            before[peer] = max(living, key=away.__getitem__)
        elif table:
            return Broken([peer], "none of its neighbours is up")
    return broken_both_ways(after, before, identifiers, RING.mask)


SMALL_WORLD_RING: Final = Invariant(
    "neighbours_form_one_ring",
    "The nearest live peers clockwise in the routing tables form one ring, ordered by identifiers, to which "
    "every joined peer leads; so do those anticlockwise (Vitis, IPDPS 2011, section III.A).",
    "emulator.protocols.overlays.small_world.ring_invariant:broken",
)
