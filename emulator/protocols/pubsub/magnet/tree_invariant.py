"""Magnet's trees are paths on the ring from the home, so no peer is its own ancestor (section 3.3)."""

from __future__ import annotations

from emulator.contract.invariants import Broken, PeersUp
from emulator.protocols.pubsub.magnet.magnet import Magnet
from emulator.protocols.pubsub.shared.tree_loops import loop_of


def broken(up: PeersUp) -> Broken | None:
    """Return the first loop of parents in a tree, of which each parent has the peer among its children.

    A peer that has taken another parent tells the former one, which does not know it as long as the word is
    on its way.
    """
    trees = {peer: magnet.trees.branches for peer, magnet in up.parts(Magnet)}
    parents: dict[int, dict[int, int]] = {}
    for peer, branches in trees.items():
        for topic, branch in branches.items():
            above = trees.get(branch.parent, {}).get(topic)
            if above is not None and peer in above.children:
                parents.setdefault(topic, {})[peer] = branch.parent
    for topic, of_topic in sorted(parents.items()):
        loop = loop_of(of_topic)
        if loop is not None:
            return Broken(loop, f"the tree of topic {topic} has a loop")
    return None
