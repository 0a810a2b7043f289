"""The invariants of HyParView's active views (Leitao, Pereira, Rodrigues, DSN 2007, sections 4.1 and 4.3).

A neighbour that is silent for some keep-alives is given up at the next one, and a neighbour that does not
know its peer says so when it gets a keep-alive. Without keep-alives only who sends notices a failure, so such
views are not judged.
"""

from __future__ import annotations

from typing import Any

from emulator.contract.dead_entries import DeadEntries
from emulator.contract.invariants import Broken, PeersUp
from emulator.protocols.gossip.hyparview.membership import HyParView


def one_sided(up: PeersUp) -> Broken | None:
    """Return a peer and its neighbour that has been without the peer in its active view for too long."""
    views: dict[int, Any] = dict(up.parts(HyParView))
    for peer, view in views.items():
        oldest = view.environment.now - _given_up_after(view)
        for other, heard in view.active.items():
            if view.keepalive > 0 and other in views and peer not in views[other].active and heard < oldest:
                return Broken(
                    [peer, other], "the second is in the first one's active view, and not so the first"
                )
    return None


def kept_dead(up: PeersUp) -> Broken | None:
    """Return the peers that have somebody in their active views who has been down for too long."""
    found = DeadEntries(up)
    for peer, view in up.parts(HyParView):
        if view.keepalive > 0:
            found.look_at(peer, view.active, _given_up_after(view) + view.keepalive)
    return found.broken()


def _given_up_after(view: Any) -> float:
    """Return after how many seconds of silence a neighbour is given up at the latest."""
    return float(view.silence + view.keepalive)
