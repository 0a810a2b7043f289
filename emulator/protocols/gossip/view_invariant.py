"""The invariant of Newscast: peers that are gone leave its views (Jelasity et al., TOCS 2007).

Newscast detects no failures. A view keeps the freshest entries, so that the entry of a peer that is down
stays, and is handed on, until there are as many fresher ones as the view has places. Where hardly more peers
are up than that, nothing pushes it out, and such a view is not judged.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Final

from emulator.contract.invariants import Broken, Invariant, PeersUp
from emulator.protocols.gossip.newscast import Newscast

ROUNDS: Final = 30
"""The rounds for which a view may keep a peer that is down."""
LEAST: Final = 30.0
"""The seconds for which it may at least, however short its rounds are."""
_MORE: Final = 1.25
"""A view is judged while this many times as many peers are up as it has places."""


def broken(up: PeersUp) -> Broken | None:
    """Return the peers that have somebody in their views who has been down for longer."""
    views = list(up.parts(Newscast))
    on_channel = Counter(newscast.views.channel for _, newscast in views)
    down: dict[int, float] = {}
    keep: list[int] = []
    oldest = 0.0
    for peer, newscast in views:
        if on_channel[newscast.views.channel] < _MORE * newscast.views.size:
            continue
        longest = max(ROUNDS * newscast.period, LEAST)
        for profile in newscast.view():
            other = profile.peer
            if other not in down:
                gone = up.down_for(other)
                down[other] = 0.0 if math.isinf(gone) else gone
            if down[other] > longest:
                oldest = max(oldest, down[other])
                if not keep or keep[-1] != peer:
                    keep.append(peer)
    if not keep:
        return None
    return Broken(keep[:5], f"{len(keep)} views hold a peer that has been down for up to {oldest:.0f} s")


VIEWS: Final = Invariant(
    "views_forget_the_dead",
    f"No view of Newscast holds a peer that has been down for {ROUNDS} rounds, and for {LEAST:g} s, where at "
    "least a quarter more peers are up than a view has places.",
    "emulator.protocols.gossip.view_invariant:broken",
)
