"""What Scribe's trees are: no peer is its own ancestor (Castro et al., IEEE JSAC 2002, section III)."""

from __future__ import annotations

from emulator.contract.invariants import Broken, PeersUp
from emulator.protocols.pubsub.scribe.scribe import Scribe


def broken(up: PeersUp) -> Broken | None:
    """Return the first loop of parents in a tree."""
    parents: dict[int, dict[int, int]] = {}
    for peer, scribe in up.parts(Scribe):
        for topic, parent in scribe.parents().items():
            parents.setdefault(topic, {})[peer] = parent
    for topic, of_topic in sorted(parents.items()):
        sound: set[int] = set()
        for peer in of_topic:
            walked: dict[int, None] = {}
            place = peer
            while place in of_topic and place not in sound:
                if place in walked:
                    order = list(walked)
                    return Broken(order[order.index(place) :], f"the tree of topic {topic} has a loop")
                walked[place] = None
                place = of_topic[place]
            sound.update(walked)
    return None
