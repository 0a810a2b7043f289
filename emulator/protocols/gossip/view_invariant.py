"""What Newscast promises of its views: who is gone leaves them (Jelasity et al., TOCS 2007)."""

from __future__ import annotations

import math
from typing import Final

from emulator.contract.invariants import Broken, Invariant, PeersUp
from emulator.protocols.gossip.newscast import Newscast

LONGEST: Final = 30.0
"""The seconds for which a view may keep a peer that is down."""


def broken(up: PeersUp) -> Broken | None:
    """Return the peers that have somebody in their views who has been down for longer."""
    down: dict[int, float] = {}
    keep: list[int] = []
    oldest = 0.0
    for peer, newscast in up.parts(Newscast):
        for profile in newscast.view():
            other = profile.peer
            if other not in down:
                gone = up.down_for(other)
                down[other] = 0.0 if math.isinf(gone) else gone
            if down[other] > LONGEST:
                oldest = max(oldest, down[other])
                if not keep or keep[-1] != peer:
                    keep.append(peer)
    if not keep:
        return None
    return Broken(keep[:5], f"{len(keep)} views hold a peer that has been down for up to {oldest:.0f} s")


VIEWS: Final = Invariant(
    "views_forget_the_dead",
    f"No view of Newscast holds a peer that has been down for {LONGEST:g} s.",
    "emulator.protocols.gossip.view_invariant:broken",
)
