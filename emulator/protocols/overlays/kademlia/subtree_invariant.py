"""The invariant of Kademlia: each peer knows somebody in each subtree (Maymounkov, Mazieres, section 2).

For each peer the binary tree of identifiers is divided into the subtrees that do not hold it, one for each
number of leading bits that it shares with others. "The Kademlia protocol ensures that every node knows of at
least one node in each of its subtrees, if that subtree contains a node."
"""

from __future__ import annotations

from typing import Any, Final

from emulator.contract.invariants import Broken, PeersUp
from emulator.protocols.overlays.kademlia.overlay import Kademlia

SETTLED: Final = 10.0
"""The seconds for which a peer must have been up. A join takes some lookups."""


def broken(up: PeersUp) -> Broken | None:
    """Return the first peers that know nobody in a subtree in which somebody is, of those on one channel.

    A contact that has gone counts as one: it stays until another one can take its place (section 4.1).
    """
    channels: dict[str, list[tuple[int, Any]]] = {}
    for peer, node in up.parts(Kademlia):
        if node.ready and up.now - node.started_at >= SETTLED:
            channels.setdefault(node.environment.name, []).append((peer, node))
    lacking = [peer for nodes in channels.values() for peer, node in nodes if _lacks(node, nodes)]
    if not lacking:
        return None
    return Broken(lacking[:5], f"{len(lacking)} peers know nobody in a subtree in which somebody is")


def _lacks(node: Any, nodes: list[tuple[int, Any]]) -> bool:
    """Return whether the node knows nobody in the subtree of one of these others."""
    known = {(each.contact.identifier ^ node.identifier).bit_length() for each in node.known.table}
    there = {(other.identifier ^ node.identifier).bit_length() for _, other in nodes if other is not node}
    return not there <= known
