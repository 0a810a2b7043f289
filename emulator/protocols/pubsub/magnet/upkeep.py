"""The upkeep of trees: heartbeats, neighbours that are silent or leave, and routes and homes that change."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol as Interface

from emulator.compact.bit_sets import bits
from emulator.contract.identifiers import hash_of_topic
from emulator.contract.protocol import Contact, Environment, Overlay, Timer
from emulator.protocols.overlays.oscar.overlay import Oscar
from emulator.protocols.pubsub.magnet.branch import Branch
from emulator.protocols.pubsub.magnet.branches import Branches
from emulator.protocols.pubsub.magnet.kept_events import KeptEvents
from emulator.protocols.pubsub.magnet.link import MagnetLink
from emulator.protocols.pubsub.magnet.parameters import MagnetParameters
from trellis.v1.magnet import RingTreeHeartbeat, TreePart


class TreeJoins(Interface):
    """The interface by which the upkeep asks a peer to join and leave trees."""

    def end_for(self, branch: Branch, child: Contact) -> int | None:
        """Return the end of a child's interval; None for a child that no greedy path leads to."""
        ...

    def rejoin(self, topic: int) -> None:
        """Search for a path to this peer in the tree, as if for the first time."""

    def seek(self, topic: int, child: Contact) -> None:
        """Search for a path to a child that no greedy path leads to."""

    def prune(self, topics: Iterable[int]) -> None:
        """Leave the trees in which neither this peer nor a child needs it."""


class Upkeep:
    """The upkeep of one peer's trees after they were joined."""

    def __init__(
        self,
        environment: Environment,
        ring: Oscar,
        control: Overlay,
        parameters: MagnetParameters,
        wanted: Collection[int],
        branches: Branches,
        kept: KeptEvents,
        joins: TreeJoins,
    ) -> None:
        self._environment = environment
        self._ring = ring
        self._control = control
        self._wanted = wanted
        self._branches = branches
        self._kept = kept
        self._joins = joins
        self._patience = parameters.join_timeout
        self._telling: Timer | None = None
        """The timer that runs while there are children off all greedy paths."""
        self._lifetime = parameters.heartbeat * parameters.silent_heartbeats
        self._routes_version = -1
        self._control_version = -1
        self._homes_checked = 0.0
        """The trial time at which this peer was last seen to be the home of its topics (s)."""
        environment.handle(TreePart, self._on_part)
        environment.handle(RingTreeHeartbeat, self._on_beat)

    def beat(self) -> None:
        """Drop silent neighbours, compare homes and children with the routes, and send the heartbeats."""
        now = self._environment.now
        oldest = now - self._lifetime
        links = self._branches.links
        for peer in links.silent_since(oldest):
            self.give_up(peer)
        self.check_homes()
        self._kept.forget_before(oldest)
        if self._routes_version != self._ring.routes_version:
            self._routes_version = self._ring.routes_version
            for topic, branch in list(self._branches.by_topic.items()):
                if branch.children:
                    self._compare(topic)
            self._joins.prune(list(self._branches.by_topic))
        for peer, link in list(links.by_peer.items()):
            self._send_beat(peer, link)

    def give_up(self, peer: int) -> None:
        """Drop a neighbour from all trees."""
        link = self._branches.links.by_peer.get(peer)
        if link is None:
            return
        children, parents = bits(link.below), bits(link.above)
        for topic in children:
            self._branches.end_child(topic, peer)
        for topic in parents:
            self._lose_parent(topic)
        self._joins.prune(children)

    def check_homes(self) -> None:
        """Stop being the home of topics for which the control overlay has a closer peer now."""
        if self._control_version != self._control.routes_version:
            self._control_version = self._control.routes_version
            for topic, branch in list(self._branches.by_topic.items()):
                if branch.is_home and self._control.next_hop(hash_of_topic(topic)) is not None:
                    branch.is_home = False
                    self._branches.lost_since.setdefault(topic, self._homes_checked)
                    self._lose_parent(topic)
            for topic in list(self._kept.early):
                if self._control.next_hop(hash_of_topic(topic)) is not None:
                    self._kept.early.discard(topic)
                    for event in self._kept.since(topic, 0.0):
                        self._control.route(hash_of_topic(topic), event)
        self._homes_checked = self._environment.now

    def bound(self, topics: Iterable[int]) -> None:
        """Compare the children in these trees with the routes, and tell those whose interval has changed at
        once.

        A child gets one heartbeat for all its trees, because they change together with the routes.
        """
        changed: dict[int, None] = {}
        for topic in topics:
            changed |= dict.fromkeys(self._compare(topic))
        links = self._branches.links.by_peer
        for child in changed:
            if child in links:
                self._send_beat(child, links[child])

    def _compare(self, topic: int) -> list[int]:
        """Return the children whose intervals have changed, and seek another path to those off the greedy
        paths.

        Children off the paths stay children and get events until the other path is found; then they leave.
        """
        branch = self._branches.by_topic[topic]
        links = self._branches.links.by_peer
        changed = []
        gone = []
        for child, told in branch.children.items():
            end = self._joins.end_for(branch, Contact(child, links[child].identifier))
            if end is None:
                gone.append(child)
            elif end != told:
                changed.append((child, end))
        for child, end in changed:
            branch.children[child] = end
            links[child].change()
        before = self._branches.astray.pop(topic, {})
        if gone:
            until = self._environment.now + self._patience
            self._branches.astray[topic] = {child: before.get(child, until) for child in gone}
            if self._telling is None:
                self._telling = self._environment.set_timer(self._patience, self._tell_astray)
            for child in gone:
                if child not in before:
                    self._joins.seek(topic, Contact(child, links[child].identifier))
        return [child for child, _ in changed]

    def _tell_astray(self) -> None:
        """Tell the children to which no path was found in time, so that they search themselves.

        They get events until they say that they have left; until then they are told again, because messages
        get lost.
        """
        now = self._environment.now
        told: dict[int, int] = {}
        for topic, of in self._branches.astray.items():
            for child, until in of.items():
                if until <= now:
                    told[child] = told.get(child, 0) | 1 << topic
                    of[child] = now + self._patience
        due = [until for of in self._branches.astray.values() for until in of.values()]
        self._telling = self._environment.set_timer(min(due) - now, self._tell_astray) if due else None
        for child, dropped in told.items():
            self._environment.send(child, TreePart(0, dropped))

    def _lose_parent(self, topic: int) -> None:
        """Search for another path to this peer, if it is needed in the tree."""
        branch = self._branches.by_topic[topic]
        link = self._branches.links.by_peer.get(branch.parent)
        if link is not None:
            self._branches.lost_since.setdefault(topic, link.heard)
        self._branches.end_parent(topic)
        if topic in self._wanted or branch.children:
            self._joins.rejoin(topic)
        else:
            self._joins.prune([topic])

    def _send_beat(self, peer: int, link: MagnetLink) -> None:
        bounds: dict[int, int] = {}
        if not link.composed:
            for topic in bits(link.below):
                end = self._branches.by_topic[topic].children[peer]
                bounds[end] = bounds.get(end, 0) | 1 << topic
        self._environment.send(peer, link.beat(bounds))

    def _on_part(self, sender: int, message: TreePart) -> None:
        left, dropped = bits(message.left), bits(message.dropped)
        for topic in left:
            self._branches.end_child(topic, sender)
        self._joins.prune(left)
        link = self._branches.links.by_peer.get(sender)
        if link is not None:
            for topic in dropped:
                if link.above >> topic & 1:
                    self._lose_parent(topic)

    def _on_beat(self, sender: int, message: RingTreeHeartbeat) -> None:
        """Take in what the neighbour says of the trees that the two share, and answer where it is wrong.

        A parent that does not name this peer is lost. A child is lost if two heartbeats in a row do not name
        this peer as its parent; the first one may have been sent before the child came.
        """
        link = self._branches.links.to(sender)
        link.heard = self._environment.now
        if link.repeats(message) and not link.unnamed:
            return
        refused = message.parents & ~link.below
        gone = link.below & ~message.parents & link.unnamed
        link.unnamed = link.below & ~message.parents & ~gone
        offered, left = 0, 0
        changed = []
        for bound in message.children:
            offered |= bound.topics
            left |= bound.topics & ~link.above
            for topic in bits(bound.topics & link.above):
                branch = self._branches.by_topic[topic]
                if branch.end != bound.end:
                    branch.end = bound.end
                    changed.append(topic)
        self.bound(changed)
        if refused or left:
            self._environment.send(sender, TreePart(left, refused))
        for topic in bits(gone):
            self._branches.end_child(topic, sender)
        self._joins.prune(bits(gone))
        for topic in bits(link.above & ~offered):
            self._lose_parent(topic)
        self._branches.links.drop_if_bare(sender)
