"""The invariants of cliques: mates have each other in their views, and no view keeps the dead."""

from __future__ import annotations

from typing import Any, Final

from emulator.contract.dead_entries import DeadEntries
from emulator.contract.invariants import Broken, Invariant, PeersUp
from emulator.protocols.overlays.cliques.overlay import Cliques

SLACK: Final = 10.0
"""The seconds beyond the rounds of pings that a view may take to follow what has happened."""
ROUNDS: Final = 6
"""The rounds of pings to all mates after which each of them was missed, or said that it is elsewhere, often
enough: four, and one each until it has begun and until the leader has told the others."""


def symmetric(up: PeersUp) -> Broken | None:
    """Return the first servers with a mate that has another clique, where neither view has changed for so
    many rounds of pings."""
    views = {peer: cliques for peer, cliques in up.parts(Cliques) if _is_settled(cliques, up.now)}
    alone = [
        (peer, mate)
        for peer, cliques in views.items()
        for mate in cliques.mates
        if mate in views and peer not in views[mate].view.members
    ]
    if not alone:
        return None
    peer, mate = alone[0]
    text = f"{len(alone)} mates do not have the server in their clique, such as {mate} of {peer}"
    return Broken(list(dict.fromkeys(each[0] for each in alone))[:5], text)


def dead(up: PeersUp) -> Broken | None:
    """Return the servers whose cliques have members that have been down for longer."""
    found = DeadEntries(up)
    for peer, cliques in up.parts(Cliques):
        found.look_at(peer, cliques.mates, _longest(cliques))
    return found.broken()


def _longest(cliques: Any) -> float:
    pings: float = ROUNDS * max(len(cliques.mates), 1) * cliques.parameters.ping
    return pings + SLACK


def _is_settled(cliques: Any, now: float) -> bool:
    return cliques.view is not None and now - cliques.changed_at >= _longest(cliques)


CLIQUES: Final = (
    Invariant(
        "mates_have_each_other",
        f"Who is in the clique of a server has it in its own, where neither view has changed for {ROUNDS} "
        f"rounds of pings and {SLACK:g} s.",
        "emulator.protocols.overlays.cliques.view_invariant:symmetric",
    ),
    Invariant(
        "cliques_forget_the_dead",
        f"No clique has a member that has been down for {ROUNDS} rounds of pings to all mates and "
        f"{SLACK:g} s.",
        "emulator.protocols.overlays.cliques.view_invariant:dead",
    ),
)
