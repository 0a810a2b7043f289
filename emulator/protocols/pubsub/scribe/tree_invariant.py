"""No peer is its own ancestor in a tree of Scribe (Castro et al., IEEE JSAC 2002, section III)."""

from __future__ import annotations

from emulator.contract.invariants import Broken, PeersUp
from emulator.protocols.pubsub.scribe.scribe import Scribe
from emulator.protocols.pubsub.shared.tree_loops import loop_of


def broken(up: PeersUp) -> Broken | None:
    """Return the first loop of parents in a tree."""
    parents: dict[int, dict[int, int]] = {}
    for peer, scribe in up.parts(Scribe):
        for topic, parent in scribe.parents().items():
            parents.setdefault(topic, {})[peer] = parent
    for topic, of_topic in sorted(parents.items()):
        loop = loop_of(of_topic)
        if loop is not None:
            return Broken(loop, f"the tree of topic {topic} has a loop")
    return None
