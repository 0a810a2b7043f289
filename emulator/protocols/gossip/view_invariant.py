"""The invariant of Newscast: peers that are gone leave its views (Jelasity et al., TOCS 2007).

Newscast detects no failures. A view keeps the freshest entries, so that the entry of a peer that is down
stays, and is handed on, until there are as many fresher ones as the view has places. Where hardly more peers
are up than that, nothing pushes it out, and such a view is not judged.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from emulator.contract.dead_entries import DeadEntries
from emulator.contract.invariants import Broken, Invariant, PeersUp
from emulator.protocols.gossip.newscast import Newscast

ROUNDS: Final = 30
"""The rounds for which a view may keep a peer that is down."""
LEAST: Final = 30.0
"""The seconds for which it may at least, however short its rounds are."""
ENOUGH: Final = 1.25
"""A view is judged while this many times as many peers are up as it has places."""


def broken(up: PeersUp) -> Broken | None:
    """Return the peers that have somebody in their views who has been down for longer."""
    views = list(up.parts(Newscast))
    on_channel = Counter(newscast.views.channel for _, newscast in views)
    found = DeadEntries(up)
    for peer, newscast in views:
        if on_channel[newscast.views.channel] >= ENOUGH * newscast.views.size:
            longest = max(ROUNDS * newscast.period, LEAST)
            found.look_at(peer, [profile.peer for profile in newscast.view()], longest)
    return found.broken()


VIEWS: Final = Invariant(
    "views_forget_the_dead",
    f"No view of Newscast holds a peer that has been down for {ROUNDS} rounds, and for {LEAST:g} s, where at "
    "least a quarter more peers are up than a view has places.",
    "emulator.protocols.gossip.view_invariant:broken",
)
