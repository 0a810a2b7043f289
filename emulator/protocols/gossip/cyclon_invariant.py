"""The invariant of Cyclon: peers that are gone leave its views (Voulgaris, Gavidia, van Steen, JNSM 2005).

A shuffle goes to the peer of the oldest entry, which leaves the view. The entries of a peer that is down grow
older wherever they are handed on, so each of them becomes the oldest. Where hardly more peers are up than a
view has places, entries are copied into empty places rather than moved, and such a view is not judged.
"""

from __future__ import annotations

from typing import Any, Final

from emulator.contract.dead_entries import DeadEntries
from emulator.contract.invariants import Broken, PeersUp
from emulator.protocols.gossip.cyclon import Cyclon
from emulator.protocols.gossip.view_invariant import ENOUGH

VIEWS: Final = 2
"""A view may keep a peer that is down for this many times as many shuffles as it has places."""


def broken(up: PeersUp) -> Broken | None:
    """Return the peers that have somebody in their views who has been down for longer."""
    views: list[tuple[int, Any]] = list(up.parts(Cyclon))
    found = DeadEntries(up)
    for peer, cyclon in views:
        if len(views) >= ENOUGH * cyclon.size:
            entries = [other for of_kind in cyclon.neighbours().values() for other in of_kind]
            found.look_at(peer, entries, VIEWS * cyclon.size * cyclon.period)
    return found.broken()
