"""A peer's places in all trees, and the neighbours that it shares them with."""

from __future__ import annotations

from emulator.contract.protocol import Contact, Environment
from emulator.protocols.pubsub.magnet.branch import Branch
from emulator.protocols.pubsub.magnet.link import MagnetLink
from emulator.protocols.pubsub.shared.home_publishing import NOBODY
from emulator.protocols.pubsub.shared.tree_links import LinkTable
from trellis.v1.magnet import TreePart


class Branches:
    """The branches of one peer by topic, and its links by neighbour."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self.by_topic: dict[int, Branch] = {}
        self.links = LinkTable(environment, MagnetLink)
        self.lost_since: dict[int, float] = {}
        """The time by topic when a lost parent was last heard from; later events may be missed (s)."""
        self.astray: dict[int, dict[int, float]] = {}
        """The children off all greedy paths by topic, each with the time until which a path is sought (s)."""

    def clear(self) -> None:
        """Forget all trees."""
        self.by_topic.clear()
        self.links.by_peer.clear()
        self.lost_since.clear()
        self.astray.clear()

    def at(self, topic: int) -> Branch:
        """Return this peer's branch of the topic's tree, a new one if there is none."""
        branch = self.by_topic.get(topic)
        if branch is None:
            branch = self.by_topic[topic] = Branch()
        return branch

    def begin_child(self, topic: int, child: Contact, end: int) -> None:
        """Add a child on a greedy path, whose interval reaches to `end`."""
        link = self.links.begin_child(child.peer, topic)
        link.identifier = child.identifier
        link.unnamed &= ~(1 << topic)
        self.by_topic[topic].children[child.peer] = end
        self.end_astray(topic, child.peer)

    def end_child(self, topic: int, child: int) -> None:
        """Remove this child, if it is one."""
        if self.links.end_child(child, topic):
            del self.by_topic[topic].children[child]
            self.end_astray(topic, child)

    def end_astray(self, topic: int, child: int) -> None:
        """Note that the child is on a greedy path again, or is no child any more."""
        astray = self.astray.get(topic)
        if astray is not None:
            astray.pop(child, None)
            if not astray:
                del self.astray[topic]

    def begin_parent(self, topic: int, parent: int) -> None:
        """Set the parent."""
        self.by_topic[topic].parent = parent
        self.links.begin_parent(parent, topic)

    def end_parent(self, topic: int, tell: bool = False) -> None:
        """Remove the parent, if there is one; with `tell`, it hears of it."""
        branch = self.by_topic[topic]
        parent = branch.parent
        if parent == NOBODY:
            return
        branch.parent = NOBODY
        self.links.end_parent(parent, topic)
        if tell:
            self._environment.send(parent, TreePart(1 << topic, 0))
