"""The invariant of routing by filters: a neighbour's table covers all that is wanted behind a link.

A server tells each neighbour what its subscribers and its other neighbours want, so that an event goes
wherever it is wanted (Carzaniga, Rosenblum, Wolf, ACM TOCS 19(3), 2001, section 4).
"""

from __future__ import annotations

from typing import Any, Final

from emulator.contract.invariants import Broken, Invariant, PeersUp
from emulator.contract.protocol import PubSub
from emulator.protocols.pubsub.content.trees import FilterTrees


def broken(up: PeersUp) -> Broken | None:
    """Return the first servers that want what their neighbour on a tree does not know, though it has
    acknowledged all that it was told."""
    servers: dict[int, Any] = {}
    for peer, server in up.parts(PubSub):  # type: ignore[type-abstract]  # it is looked for, and not made
        trees = getattr(server, "trees", None)
        if isinstance(trees, FilterTrees):
            servers[peer] = trees.trees
    missed = [
        (peer, neighbour)
        for peer, trees in servers.items()
        for table, tree in trees.items()
        if tree.settled
        for neighbour in tree.routes.neighbours
        if neighbour in servers
        and table in servers[neighbour]
        and _lacks(servers[neighbour][table].routes, peer, tree.routes, neighbour)
    ]
    if not missed:
        return None
    peer, neighbour = missed[0]
    text = f"{len(missed)} tables lack what is wanted behind a link, such as that of {neighbour} for {peer}"
    return Broken(list(dict.fromkeys(each[0] for each in missed))[:5], text)


def _lacks(there: Any, peer: int, here: Any, neighbour: int) -> bool:
    """Return whether the table `there` does not cover what the peer wants that has the table `here`."""
    if peer not in there.neighbours:
        return False
    wanted = [box for box, _ in here.own.items()]
    wanted += [box for box, owner in here.table.items() if owner != neighbour]
    return any(not there.table.any_covers(box, peer) for box in wanted)


TABLES: Final = Invariant(
    "tables_cover_what_is_wanted",
    "Where a neighbour has acknowledged all that it was told, its table covers all that is wanted behind the "
    "link (Siena, section 4).",
    "emulator.protocols.pubsub.content.table_invariant:broken",
)
