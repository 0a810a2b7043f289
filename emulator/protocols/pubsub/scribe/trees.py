"""A peer's part in the multicast trees of Scribe (JSAC 2002, sections III.B and III.C).

A tree consists of the reverse paths of the joins that its members route towards the topic: the first peer on
the path adopts the peer that asks, and sends a join of its own if it is not in the tree.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from emulator.compact.bit_sets import bit_set, bits
from emulator.contract.identifiers import hash_of_topic
from emulator.contract.protocol import Contact, Environment, Message, Overlay
from emulator.protocols.pubsub.scribe.joins import Joins
from emulator.protocols.pubsub.scribe.link import ScribeLink
from emulator.protocols.pubsub.scribe.parameters import ScribeParameters
from emulator.protocols.pubsub.shared.tree_links import LinkTable
from trellis.v1.scribe import TreeAcceptance, TreeHeartbeat, TreeJoin, TreeLeave


class Trees:
    """The parents and children of one peer.

    In each tree a peer has a parent, is the root, or seeks a parent.
    """

    def __init__(
        self,
        environment: Environment,
        overlay: Overlay,
        parameters: ScribeParameters,
        wanted: Collection[int],
    ) -> None:
        """`wanted` are the topics that the peer itself subscribes to, as they change."""
        self._environment = environment
        self._overlay = overlay
        self._wanted = wanted
        self._peer = environment.peer
        self._heartbeat = parameters.heartbeat
        self._lifetime = parameters.heartbeat * parameters.silent_heartbeats
        self.children: dict[int, set[int]] = {}
        """The children table, by topic."""
        self.parents: dict[int, int] = {}
        self.roots: set[int] = set()
        """The topics of which this peer is the root."""
        self._joins = Joins(environment, overlay, parameters.join_timeout)
        self.changes = 0
        """A count that grows whenever a child or a parent comes or goes."""
        self._links = LinkTable(environment, ScribeLink)
        self._checked_routes = -1
        """The version of the overlay's routes with which parents and roots were last compared."""
        environment.handle(TreeAcceptance, self._on_acceptance)
        environment.handle(TreeHeartbeat, self._on_heartbeat)
        environment.handle(TreeLeave, self._on_leave)

    def start(self) -> None:
        """Begin to send heartbeats. Call it when the overlay was started."""
        self._environment.every(self._heartbeat, self._beat)

    def stop(self, graceful: bool) -> None:
        """Leave all trees.

        Parents and children are told, and the children join anew. Stop the overlay before.
        """
        if graceful:
            for peer, link in self._links.by_peer.items():
                if link.above:
                    self._environment.send(peer, TreeLeave(topics=link.above))
                if link.below:
                    self._environment.send(peer, TreeHeartbeat())
        self.children.clear()
        self.parents.clear()
        self.roots.clear()
        self._joins.clear()
        self._links.by_peer.clear()

    def join(self, topic: int) -> None:
        """Join the topic's tree, or stay in it."""
        if topic not in self.parents and topic not in self.roots and topic not in self._joins:
            self._ask(topic)

    def prune(self, topics: Iterable[int]) -> None:
        """Leave the trees in which neither this peer nor a child needs it, and tell the parents."""
        leaves: dict[int, int] = {}
        for topic in topics:
            if topic in self._wanted or topic in self.children:
                continue
            self._joins.end(topic)
            self.roots.discard(topic)
            parent = self._part_from_parent(topic)
            if parent is not None:
                leaves[parent] = leaves.get(parent, 0) | 1 << topic
        for parent, left in leaves.items():
            self._environment.send(parent, TreeLeave(topics=left))

    def forward(self, join: TreeJoin, next_hop: int) -> bool:
        """Adopt the child that asks, whose join goes no further (the overlay's upcall at each peer on the
        path).

        A peer's own join goes on to the next hop.
        """
        if join.child == self._peer:
            self._joins.sent_to(join.topic, next_hop)
            return True
        self._adopt(join.child, join.topic)
        return False

    def deliver(self, join: TreeJoin) -> None:
        """Become the root (the overlay's upcall at the peer that is closest to the topic)."""
        if join.child != self._peer:
            self._adopt(join.child, join.topic)
        elif self._joins.end(join.topic):
            self.roots.add(join.topic)

    def neighbour_joined(self, contact: Contact) -> None:
        """Ask `contact` where it is closer to a root's topic, and send what waited for the overlay."""
        space, identifier = self._overlay.space, self._overlay.identifier
        closer = []
        for topic in self.roots:
            key = hash_of_topic(topic)
            nearer = space.distance(contact.identifier, key) < space.distance(identifier, key)
            if nearer and self._overlay.next_hop(key) is not None:
                closer.append(topic)
        for topic in closer:
            self._ask(topic)
        self._joins.send_waiting()

    def on_unreachable(self, peer: int) -> None:
        """Drop `peer`, whose children ask for another parent. The overlay was told before."""
        self._give_up(peer)
        self._joins.on_unreachable(peer)

    def hear(self, peer: int) -> None:
        """Count an event from `peer` as a heartbeat."""
        self._links.hear(peer)

    def send_down(self, topic: int, message: Message, sender: int | None) -> None:
        """Send an event to all children but `sender`."""
        for child in self.children.get(topic, ()):
            if child != sender:
                self._links.by_peer[child].spoken = True
                self._environment.send(child, message)

    def topics(self) -> set[int]:
        """Return the topics whose trees this peer is in."""
        return self.parents.keys() | self.roots | set(self._joins)

    def _ask(self, topic: int) -> None:
        self.roots.discard(topic)
        self._joins.send(topic)

    def _adopt(self, child: int, topic: int) -> None:
        self._add_child(child, topic)
        self._environment.send(child, TreeAcceptance(topic=topic, identifier=self._overlay.identifier))

    def _add_child(self, child: int, topic: int) -> None:
        self.changes += 1
        link = self._links.begin_child(child, topic)
        link.unnamed[topic] = self._environment.now + self._lifetime
        self.children.setdefault(topic, set()).add(child)
        if self.parents.get(topic) == child:
            # The routes lead in a circle. The peer waits before it asks again, because the routes may still
            # change.
            self._part_from_parent(topic)
            self._joins.put_off(topic)
        self.join(topic)

    def _accepted(self, sender: int, identifier: int, topic: int) -> bool:
        """Take the sender, of this identifier, as the parent if one is sought.

        Returns whether it is the parent now.
        """
        if self._joins.end(topic):
            self.parents[topic] = sender
            self.changes += 1
            self._links.begin_parent(sender, topic).identifier = identifier
            self._checked_routes = -1
        return self.parents.get(topic) == sender

    def _part_from_parent(self, topic: int) -> int | None:
        parent = self.parents.pop(topic, None)
        if parent is not None:
            self._links.end_parent(parent, topic)
        return parent

    def _lose_child(self, child: int, topic: int) -> None:
        if self._links.end_child(child, topic):
            self._remove_child(child, topic)

    def _remove_child(self, child: int, topic: int) -> None:
        self.changes += 1
        children = self.children[topic]
        children.discard(child)
        if not children:
            del self.children[topic]

    def _give_up(self, peer: int) -> None:
        link = self._links.by_peer.pop(peer, None)
        if link is None:
            return
        children, parents = bits(link.below), bits(link.above)
        for topic in parents:
            del self.parents[topic]
        for topic in children:
            self._remove_child(peer, topic)
        self.prune(children)
        for topic in parents:
            if topic in self._wanted or topic in self.children:
                self._ask(topic)

    def _beat(self) -> None:
        """Drop silent neighbours, compare roots and parents with the routes, and send the heartbeats."""
        now = self._environment.now
        for peer in self._links.silent_since(now - self._lifetime):
            self._give_up(peer)
        for peer, link in list(self._links.by_peer.items()):
            if link.unnamed:
                gone = [topic for topic, ends in link.unnamed.items() if ends < now]
                for topic in gone:
                    self._lose_child(peer, topic)
                self.prune(gone)
        self.check_routes()
        identifier = self._overlay.identifier
        for peer, link in self._links.by_peer.items():
            heartbeat = link.due(identifier)
            if heartbeat is not None:
                self._environment.send(peer, heartbeat)

    def check_routes(self) -> None:
        """Ask again where this peer is a root and no longer the closest; become the root where it now is the
        closest.

        Call it when neighbours in the overlay change, too: what is published before the next heartbeat would
        miss the tree. A parent that is farther from the topic than this peer is kept only while the route
        leads over it: around any circle, one link leads away from the topic.
        """
        overlay = self._overlay
        if overlay.routes_version == self._checked_routes:
            return
        self._checked_routes = overlay.routes_version
        for topic in [topic for topic in self.roots if overlay.next_hop(hash_of_topic(topic)) is not None]:
            self._ask(topic)
        way = overlay.space.way
        for topic, parent in list(self.parents.items()):
            key = hash_of_topic(topic)
            hop = overlay.next_hop(key)
            if hop is not None:
                away = way(self._links.by_peer[parent].identifier, key) >= way(overlay.identifier, key)
                if hop.peer == parent or not away:
                    continue
            self._part_from_parent(topic)
            self._environment.send(parent, TreeLeave(topics=1 << topic))
            self._ask(topic)

    def _on_acceptance(self, sender: int, message: TreeAcceptance) -> None:
        if not self._accepted(sender, message.identifier, message.topic):
            self._environment.send(sender, TreeLeave(topics=1 << message.topic))

    def _on_leave(self, sender: int, message: TreeLeave) -> None:
        topics = bits(message.topics)
        for topic in topics:
            self._lose_child(sender, topic)
        self.prune(topics)

    def _on_heartbeat(self, sender: int, message: TreeHeartbeat) -> None:
        now = self._environment.now
        link = self._links.to(sender)
        link.heard = now
        if link.repeats(message):
            return
        named, offered = message.parents, message.children
        if link.above & offered and link.identifier != message.identifier:
            link.identifier = message.identifier
            self._checked_routes = -1
        for topic in bits(named & ~link.below):
            self._add_child(sender, topic)
        link.refresh(named, now + self._lifetime)
        refused = [
            topic
            for topic in bits(offered & ~link.above)
            if not self._accepted(sender, message.identifier, topic)
        ]
        if refused:
            self._environment.send(sender, TreeLeave(topics=bit_set(refused)))
        for topic in bits(link.above & ~offered):
            self._part_from_parent(topic)
            self._ask(topic)
        self._links.drop_if_bare(sender)
