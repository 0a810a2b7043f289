"""The distribution trees: Algorithm 2 of Magnet (section 3.3) and their upkeep.

The tree of a topic is made of the greedy paths on the interest ring from the topic's home to its subscribers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Final

from emulator.bit_sets import bits
from emulator.identifiers import hash_of_topic
from emulator.overlays.oscar.overlay import Oscar
from emulator.protocol import Contact, Environment, Message, Overlay, Timer
from emulator.pubsub.magnet.branch import NOBODY, Branch
from emulator.pubsub.magnet.kept_events import KeptEvents
from emulator.pubsub.magnet.links import TreeLink
from emulator.pubsub.magnet.parameters import MagnetParameters
from trellis.v1.magnet import RingTreeHeartbeat, TreePart, TreePath, TreeSearch

_MOST_HOPS: Final = 200
"""A search that has gone this far runs in a circle: trees are being mended."""


class PathTrees:
    """One peer's branches, by topic."""

    def __init__(
        self,
        environment: Environment,
        ring: Oscar,
        control: Overlay,
        parameters: MagnetParameters,
        wanted: Collection[int],
        known: Callable[[int], int],
        has: Callable[[int], bool],
    ) -> None:
        """`wanted` are the topics that the peer subscribes to, as they change.

        `known` names a random other subscriber of a topic that is in its tree, or NOBODY.
        `has` says whether the event of this number was here.
        """
        self._environment = environment
        self._ring = ring
        self._control = control
        self._wanted = wanted
        self._known = known
        self._has = has
        self._peer = environment.peer
        self._exact = parameters.graft == "interval"
        self._heartbeat = parameters.heartbeat
        self._lifetime = parameters.heartbeat * parameters.silent_heartbeats
        self._join_timeout = parameters.join_timeout
        self.branches: dict[int, Branch] = {}
        self.sent = 0
        """Messages of joins that this peer has sent."""
        self._links: dict[int, TreeLink] = {}
        self._pending: dict[int, Timer] = {}
        """Joins under way, with their repetition."""
        self._asked: dict[int, int] = {}
        """The subscriber that was asked first."""
        self._lost_since: dict[int, float] = {}
        """By topic: since when nothing may have come from a parent that is lost (s of trial time)."""
        self._kept = KeptEvents()
        self._early: set[int] = set()
        """Topics of which events came to this peer as the home, which has no tree of the topic yet."""
        self._routes_version = -1
        self._control_version = -1
        self._homes_checked = 0.0
        """The time at which this peer was last seen to be the home of what it is the home of (s)."""
        environment.handle(TreeSearch, self._on_search)
        environment.handle(TreePath, self._on_path)
        environment.handle(TreePart, self._on_part)
        environment.handle(RingTreeHeartbeat, self._on_beat)

    def start(self) -> None:
        """Begin to send heartbeats."""
        self._environment.every(self._heartbeat, self.beat)

    def leave(self, graceful: bool) -> None:
        """Leave all trees, to come back from another place or not at all.

        What passed here stays: who becomes a home before it has a place has events for the children to come.
        """
        if graceful:
            for peer, link in self._links.items():
                self._environment.send(peer, TreePart(link.above, link.below))
        for timer in self._pending.values():
            timer.cancel()
        self._pending.clear()
        self._asked.clear()
        self._lost_since.clear()
        self._links.clear()
        self.branches.clear()

    def join(self, topic: int) -> None:
        """Become a part of the topic's tree, or stay it; who is a relay already sends nothing."""
        branch = self.branches.get(topic)
        if (branch is None or not branch.attached) and topic not in self._pending:
            self._ask(topic, first=True)

    def prune(self, topics: Iterable[int]) -> None:
        """Leave the trees in which nobody needs this peer."""
        left: dict[int, int] = {}
        for topic in topics:
            branch = self.branches.get(topic)
            if topic in self._wanted or (branch is not None and (branch.children or branch.parting)):
                continue
            self._end_join(topic)
            self._lost_since.pop(topic, None)
            if branch is not None:
                if branch.parent != NOBODY:
                    left[branch.parent] = left.get(branch.parent, 0) | 1 << topic
                    self._part_from_parent(topic, branch)
                del self.branches[topic]
        for parent, those in left.items():
            self._environment.send(parent, TreePart(those, 0))

    def on_unreachable(self, peer: int) -> None:
        """Do without this peer, and ask another one where it was asked."""
        self._give_up(peer)
        for topic in [topic for topic, asked in self._asked.items() if asked == peer]:
            self._ask(topic, first=False)

    def hear(self, peer: int) -> None:
        """Take an event from `peer` for a heartbeat."""
        link = self._links.get(peer)
        if link is not None:
            link.heard = self._environment.now

    def send_down(self, topic: int, message: Message) -> None:
        """Send an event to all children in the tree, and keep it for those who come back.

        A new home has events before it has children: they come to it from the former one.
        """
        self._kept.keep(topic, self._environment.now, message)
        branch = self.branches.get(topic)
        if branch is None:
            if self._control.next_hop(hash_of_topic(topic)) is None:
                self._early.add(topic)
        else:
            for child in branch.children:
                self._environment.send(child, message)
            if branch.parting:
                now = self._environment.now
                for child, until in branch.parting.items():
                    if until > now and child not in branch.children:
                        self._environment.send(child, message)

    def be_home(self, search: TreeSearch) -> None:
        """Be the home of the topic that a search was routed to, which ended here."""
        if not self._ring.ready or search.joiner is None:
            return
        branch = self._branch(search.topic)
        if not branch.is_home:
            self._part_from_parent(search.topic, branch, tell=True)
            self._end_join(search.topic)
            branch.is_home = True
            branch.home = self._peer
            self._early.discard(search.topic)
            self._bound(search.topic, branch)
        if search.joiner.peer != self._peer:
            self._descend(search.topic, branch, search.joiner, search.missed_ms)

    def _ask(self, topic: int, first: bool) -> None:
        """Phase 1: begin at a subscriber in the tree, or at the home where none is known or none answered."""
        self._end_join(topic)
        self._pending[topic] = self._environment.set_timer(
            self._join_timeout, lambda: self._ask(topic, first=False)
        )
        if not self._ring.ready or not self._control.ready:
            return
        search = self._search(topic, self._lost_since.get(topic))
        known = self._known(topic) if first else NOBODY
        if known == NOBODY:
            self._route_home(search)
        else:
            self._asked[topic] = known
            self._send(known, search)

    def _search(self, topic: int, lost_since: float | None) -> TreeSearch:
        """Tell how long events may have been missed, and more, for the search itself takes time."""
        now, margin = self._environment.now, self._join_timeout
        missed = 0 if lost_since is None else round(1e3 * (now - lost_since + margin))
        return TreeSearch(topic, Contact(self._peer, self._ring.identifier), 0, missed)

    def _end_join(self, topic: int) -> None:
        timer = self._pending.pop(topic, None)
        if timer is not None:
            timer.cancel()
        self._asked.pop(topic, None)

    def _route_home(self, search: TreeSearch) -> None:
        self.sent += 1
        self._control.route(hash_of_topic(search.topic), search)

    def _send(self, peer: int, message: Message) -> None:
        self.sent += 1
        self._environment.send(peer, message)

    def _on_search(self, sender: int, search: TreeSearch) -> None:
        """Phase 2: graft the joiner here or pass the search on, upwards."""
        joiner = search.joiner
        if joiner is None or search.hops > _MOST_HOPS:
            return
        branch = self.branches.get(search.topic)
        onward = TreeSearch(search.topic, joiner, search.hops + 1, search.missed_ms)
        if branch is None or not branch.attached:
            self._route_home(onward)
        elif joiner.peer == self._peer:
            return
        elif branch.is_home or self._grafts(branch, joiner):
            self._descend(search.topic, branch, joiner, search.missed_ms)
        else:
            self._send(branch.parent, onward)

    def _grafts(self, branch: Branch, joiner: Contact) -> bool:
        """Condition (2) of Algorithm 2, or whether the greedy path from the home passes here."""
        if self._exact:
            return 0 < self._offset(joiner.identifier) < self._reach(branch)
        hop = self._ring.last_before(joiner.identifier)
        return hop is not None and hop.peer in branch.children

    def _descend(self, topic: int, branch: Branch, joiner: Contact, missed_ms: int) -> None:
        """Phase 3: make the next peer on the greedy path to the joiner a child, and have it go on.

        The last peer gives a joiner that comes back the events that it has missed.
        """
        hop = self._ring.last_before(joiner.identifier)
        if hop is None:
            return
        end = self._end_for(branch, hop)
        if end is None:
            return
        link = self._link(hop.peer)
        link.identifier = hop.identifier
        link.below |= 1 << topic
        link.unnamed &= ~(1 << topic)
        link.change()
        branch.children[hop.peer] = end
        kept = self._kept.numbers(topic)
        self._send(hop.peer, TreePath(topic, joiner, branch.home, end, missed_ms, kept))
        if missed_ms and hop.peer == joiner.peer:
            for event in self._kept.since(topic, self._environment.now - missed_ms / 1e3):
                self._environment.send(hop.peer, event)

    def _on_path(self, sender: int, path: TreePath) -> None:
        if path.joiner is None or not self._ring.ready:
            self._environment.send(sender, TreePart(1 << path.topic, 0))
            return
        branch = self._branch(path.topic)
        if branch.is_home:
            self.check_homes()
        if sender in branch.children:
            # The two were told of paths in opposite directions; the later one counts.
            self._lose_child(sender, path.topic)
        if branch.is_home:
            self._environment.send(sender, TreePart(1 << path.topic, 0))
        else:
            lost_since = self._lost_since.pop(path.topic, None)
            if branch.parent != sender:
                if branch.parent != NOBODY and lost_since is None:
                    # The former parent may have been cut off itself, which its children are not told.
                    lost_since = self._environment.now - self._lifetime
                self._part_from_parent(path.topic, branch, tell=True)
                branch.parent = sender
                link = self._link(sender)
                link.above |= 1 << path.topic
                link.change()
            branch.home = path.home
            branch.end = path.end
            self._end_join(path.topic)
            self._bound(path.topic, branch)
            self._ask_for_missed(sender, path, lost_since)
        if path.joiner.peer != self._peer:
            self._descend(path.topic, branch, path.joiner, path.missed_ms)
        self.prune([path.topic])

    def _ask_for_missed(self, parent: int, path: TreePath, lost_since: float | None) -> None:
        """Join once more, at the parent, if it has events that are missed here or by the joiner."""
        if path.missed_ms:
            if path.joiner is not None and path.joiner.peer == self._peer:
                return  # the parent sends them
            since = self._environment.now - path.missed_ms / 1e3
            lost_since = since if lost_since is None else min(since, lost_since)
        if lost_since is not None and any(not self._has(event) for event in path.kept):
            self._send(parent, self._search(path.topic, lost_since))

    def _bound(self, topic: int, branch: Branch) -> None:
        """Hold the children against the routes: drop those off the paths, and tell others of changes."""
        changed = []
        dropped = []
        for child, told in branch.children.items():
            end = self._end_for(branch, Contact(child, self._links[child].identifier))
            if end is None:
                dropped.append(child)
            elif end != told:
                changed.append((child, end))
        for child, end in changed:
            branch.children[child] = end
            self._links[child].change()
        for child in dropped:
            self._environment.send(child, TreePart(0, 1 << topic))
            self._lose_child(child, topic)
            branch.parting[child] = self._environment.now + self._join_timeout
        for child, _ in changed:
            self._send_beat(child, self._links[child])

    def _end_for(self, branch: Branch, child: Contact) -> int | None:
        """The end of the interval of this child; None if no greedy path of the tree leads over it."""
        end = self._ring.end_of(child)
        if end is None or not self._exact:
            return end
        reach = self._reach(branch)
        if self._offset(child.identifier) >= reach:
            return None
        offset = self._offset(end)
        if offset > reach or (offset == 0 and not branch.is_home):
            return branch.end
        return end

    def _reach(self, branch: Branch) -> int:
        """The length of this peer's interval: the whole ring at the home."""
        return self._ring.space.size if branch.is_home else self._offset(branch.end)

    def _offset(self, identifier: int) -> int:
        return (identifier - self._ring.identifier) & self._ring.space.mask

    def _branch(self, topic: int) -> Branch:
        branch = self.branches.get(topic)
        if branch is None:
            branch = self.branches[topic] = Branch()
        return branch

    def _link(self, peer: int) -> TreeLink:
        link = self._links.get(peer)
        if link is None:
            link = self._links[peer] = TreeLink(self._environment.now)
        return link

    def _drop_if_bare(self, peer: int) -> None:
        link = self._links[peer]
        if not link.above and not link.below:
            del self._links[peer]

    def _part_from_parent(self, topic: int, branch: Branch, tell: bool = False) -> None:
        parent = branch.parent
        if parent == NOBODY:
            return
        branch.parent = NOBODY
        link = self._links[parent]
        link.above &= ~(1 << topic)
        link.change()
        self._drop_if_bare(parent)
        if tell:
            self._environment.send(parent, TreePart(1 << topic, 0))

    def _lose_child(self, child: int, topic: int) -> None:
        link = self._links.get(child)
        if link is None or not link.below >> topic & 1:
            return
        link.below &= ~(1 << topic)
        link.unnamed &= ~(1 << topic)
        link.change()
        self._drop_if_bare(child)
        del self.branches[topic].children[child]

    def _lose_parent(self, topic: int) -> None:
        """Ask for another way to this peer, if it is needed in the tree."""
        branch = self.branches[topic]
        link = self._links.get(branch.parent)
        if link is not None:
            self._lost_since.setdefault(topic, link.heard)
        self._part_from_parent(topic, branch)
        if topic in self._wanted or branch.children:
            self._ask(topic, first=True)
        else:
            self.prune([topic])

    def _give_up(self, peer: int) -> None:
        link = self._links.get(peer)
        if link is None:
            return
        children, parents = bits(link.below), bits(link.above)
        for topic in children:
            self._lose_child(peer, topic)
        for topic in parents:
            self._lose_parent(topic)
        self.prune(children)

    def beat(self) -> None:
        """Give up the silent, hold homes and children against the routes, and send the heartbeats."""
        oldest = self._environment.now - self._lifetime
        for peer in [peer for peer, link in self._links.items() if link.heard < oldest]:
            self._give_up(peer)
        self.check_homes()
        now = self._environment.now
        self._kept.forget_before(oldest)
        self._early = {topic for topic in self._early if self._kept.numbers(topic)}
        parted = []
        for topic, branch in self.branches.items():
            if branch.parting:
                branch.parting = {child: until for child, until in branch.parting.items() if until > now}
                parted.append(topic)
        self.prune(parted)
        if self._routes_version != self._ring.routes_version:
            self._routes_version = self._ring.routes_version
            for topic, branch in list(self.branches.items()):
                if branch.children:
                    self._bound(topic, branch)
            self.prune(list(self.branches))
        for peer, link in list(self._links.items()):
            self._send_beat(peer, link)

    def check_homes(self) -> None:
        """Where the control overlay has a closer peer now, this one is the home no more."""
        if self._control_version != self._control.routes_version:
            self._control_version = self._control.routes_version
            for topic, branch in list(self.branches.items()):
                if branch.is_home and self._control.next_hop(hash_of_topic(topic)) is not None:
                    branch.is_home = False
                    self._lost_since.setdefault(topic, self._homes_checked)
                    self._lose_parent(topic)
            for topic in list(self._early):
                if self._control.next_hop(hash_of_topic(topic)) is not None:
                    self._early.discard(topic)
                    for event in self._kept.since(topic, 0.0):
                        self._control.route(hash_of_topic(topic), event)
        self._homes_checked = self._environment.now

    def _send_beat(self, peer: int, link: TreeLink) -> None:
        bounds: dict[int, int] = {}
        if not link.composed:
            for topic in bits(link.below):
                end = self.branches[topic].children[peer]
                bounds[end] = bounds.get(end, 0) | 1 << topic
        self._environment.send(peer, link.beat(bounds))

    def _on_part(self, sender: int, message: TreePart) -> None:
        left, dropped = bits(message.left), bits(message.dropped)
        for topic in left:
            self._lose_child(sender, topic)
        self.prune(left)
        link = self._links.get(sender)
        if link is not None:
            for topic in dropped:
                if link.above >> topic & 1:
                    self._lose_parent(topic)

    def _on_beat(self, sender: int, message: RingTreeHeartbeat) -> None:
        link = self._link(sender)
        link.heard = self._environment.now
        if link.repeats(message):
            return
        refused = message.parents & ~link.below
        gone = link.below & ~message.parents & link.unnamed
        link.unnamed = link.below & ~message.parents & ~gone
        offered, left = 0, 0
        for bound in message.children:
            offered |= bound.topics
            left |= bound.topics & ~link.above
            for topic in bits(bound.topics & link.above):
                branch = self.branches[topic]
                if branch.end != bound.end:
                    branch.end = bound.end
                    self._bound(topic, branch)
                    self.prune([topic])
        if refused or left:
            self._environment.send(sender, TreePart(left, refused))
        for topic in bits(gone):
            self._lose_child(sender, topic)
        self.prune(bits(gone))
        for topic in bits(link.above & ~offered):
            self._lose_parent(topic)
        if sender in self._links:
            self._drop_if_bare(sender)
