"""The promise of OSCAR about its ring, whose rules are Chord's (Stoica et al., SIGCOMM 2001)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from emulator.contract.invariants import Broken, PeersUp
from emulator.protocols.overlays.oscar.overlay import Oscar
from emulator.protocols.overlays.ring_order import broken_both_ways
from trellis.v1.overlay import Contact


def broken(up: PeersUp) -> Broken | None:
    """Return where the first live successors, or the live predecessors, form no ring, several, or one that is
    not ordered.

    Each ring counts by itself, such as the two of Magnet. A neighbour lives if it stands at the place at
    which it is known. Peers that lead into the ring but are not on it yet may be there.
    """
    rings: dict[str, dict[int, Any]] = {}
    for peer, overlay in up.parts(Oscar):
        if overlay.ready:
            rings.setdefault(overlay.environment.name, {})[peer] = overlay
    for _, joined in sorted(rings.items()):
        found = _broken(joined)
        if found is not None:
            return found
    return None


def _broken(joined: dict[int, Any]) -> Broken | None:
    """Return which of the peers of one ring form none."""
    after: dict[int, int] = {}
    before: dict[int, int] = {}
    for peer, overlay in joined.items():
        ring = overlay.ring
        living = _living(ring.successors, joined)
        if living:
            after[peer] = living[0]
        elif ring.successors:
            return Broken([peer], "none of its successors is up")
        else:
            after[peer] = peer
        known = [] if ring.predecessor is None else _living([ring.predecessor], joined)
        if known:
            before[peer] = known[0]
    mask = next((overlay.space.mask for overlay in joined.values()), 0)
    return broken_both_ways(
        after, before, {peer: overlay.identifier for peer, overlay in joined.items()}, mask
    )


def _living(contacts: Sequence[Contact], joined: dict[int, Any]) -> list[int]:
    """Return those of the contacts that are up, at the places at which they are known."""
    return [
        contact.peer
        for contact in contacts
        if contact.peer in joined and joined[contact.peer].identifier == contact.identifier
    ]
