"""The distribution trees: Algorithm 2 of Magnet (section 3.3).

The tree of a topic consists of the greedy paths on the interest ring from the topic's home to its
subscribers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Final

from emulator.contract.identifiers import hash_of_topic
from emulator.contract.protocol import Contact, Environment, Message, Overlay, Timer
from emulator.protocols.overlays.oscar.overlay import Oscar
from emulator.protocols.pubsub.magnet.branch import Branch
from emulator.protocols.pubsub.magnet.branches import Branches
from emulator.protocols.pubsub.magnet.intervals import Intervals
from emulator.protocols.pubsub.magnet.kept_events import KeptEvents
from emulator.protocols.pubsub.magnet.parameters import MagnetParameters
from emulator.protocols.pubsub.magnet.upkeep import Upkeep
from emulator.protocols.pubsub.shared.home_publishing import NOBODY
from trellis.v1.magnet import TreePart, TreePath, TreeSearch

_MOST_HOPS: Final = 200
"""A search that has gone this many hops runs in a circle, because trees are being mended."""


class PathTrees:
    """The trees of one peer: it joins and leaves them, and sends events down."""

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

        `known` returns a random other subscriber of a topic that is in its tree, or NOBODY. `has` says
        whether this peer has had the event of a number.
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
        self.sent = 0
        """The number of messages of joins that this peer has sent."""
        self._pending: dict[int, Timer] = {}
        """The timers that repeat the joins under way, by topic."""
        self._asked: dict[int, int] = {}
        """The subscriber that each join asked first, by topic."""
        self._tree = Branches(environment)
        self.branches = self._tree.by_topic
        self.kept = KeptEvents()
        self._intervals = Intervals(ring)
        self.upkeep = Upkeep(
            environment,
            ring,
            control,
            parameters,
            wanted,
            self._tree,
            self.kept,
            self,
        )
        environment.handle(TreeSearch, self._on_search)
        environment.handle(TreePath, self._on_path)

    def start(self) -> None:
        """Begin to send heartbeats."""
        self._environment.every(self._heartbeat, self.upkeep.beat)

    def leave(self, graceful: bool) -> None:
        """Leave all trees, to come back from another place or not at all.

        The kept events stay, because a peer that becomes a home before it has a place gives them to later
        children.
        """
        if graceful:
            for peer, link in self._tree.links.by_peer.items():
                self._environment.send(peer, TreePart(link.above, link.below))
        for timer in self._pending.values():
            timer.cancel()
        self._pending.clear()
        self._asked.clear()
        self._tree.clear()

    def join(self, topic: int) -> None:
        """Join the topic's tree. A peer that is in the tree already, as a relay, sends nothing."""
        branch = self.branches.get(topic)
        if (branch is None or not branch.attached) and topic not in self._pending:
            self._ask(topic, first=True)

    def rejoin(self, topic: int) -> None:
        """Search for a path to this peer in the tree, as if for the first time."""
        self._ask(topic, first=True)

    def prune(self, topics: Iterable[int]) -> None:
        """Leave the trees in which neither this peer nor a child needs it."""
        left: dict[int, int] = {}
        for topic in topics:
            branch = self.branches.get(topic)
            if topic in self._wanted or (branch is not None and branch.children):
                continue
            self._end_join(topic)
            self._tree.lost_since.pop(topic, None)
            if branch is not None:
                if branch.parent != NOBODY:
                    left[branch.parent] = left.get(branch.parent, 0) | 1 << topic
                    self._tree.end_parent(topic)
                del self.branches[topic]
        for parent, those in left.items():
            self._environment.send(parent, TreePart(those, 0))

    def on_unreachable(self, peer: int) -> None:
        """Drop this peer, and ask another one where this one was asked."""
        self.upkeep.give_up(peer)
        for topic in [topic for topic, asked in self._asked.items() if asked == peer]:
            self._ask(topic, first=False)

    def hear(self, peer: int) -> None:
        """Count an event from `peer` as a heartbeat."""
        self._tree.links.hear(peer)

    def send_down(self, topic: int, message: Message) -> None:
        """Send an event to all children in the tree, and keep it for peers that come back.

        A new home has events before it has children, which come to it from the former home.
        """
        self.kept.keep(topic, self._environment.now, message)
        branch = self.branches.get(topic)
        if branch is None:
            if self._control.next_hop(hash_of_topic(topic)) is None:
                self.kept.early.add(topic)
            return
        for child in branch.children:
            self._environment.send(child, message)

    def be_home(self, search: TreeSearch) -> None:
        """Become the home of the topic that a search was routed to, because the routing ended here.

        A home without a place gives the kept events to the peers that ask; one of them is the former home,
        which sends them on.
        """
        if search.joiner is None:
            self._environment.drop(TreeSearch, "it lacks a part")
            return
        topic = search.topic
        if not self._ring.ready:
            self._give_missed(topic, search.joiner.peer, search.missed_ms)
            return
        branch = self._tree.at(topic)
        if not branch.is_home:
            self._tree.end_parent(topic, tell=True)
            self._end_join(topic)
            branch.is_home = True
            branch.home = self._peer
            self.kept.early.discard(topic)
            self.upkeep.bound([topic])
        if search.joiner.peer != self._peer:
            self._descend(topic, branch, search.joiner, search.missed_ms)

    def _ask(self, topic: int, first: bool) -> None:
        """Phase 1: search from a subscriber in the tree, or the home if none is known or answered."""
        self._end_join(topic)
        self._pending[topic] = self._environment.set_timer(
            self._join_timeout, lambda: self._ask(topic, first=False)
        )
        if not self._ring.ready or not self._control.ready:
            return
        search = self._search(topic, self._tree.lost_since.get(topic))
        known = self._known(topic) if first else NOBODY
        if known == NOBODY:
            self._route_home(search)
        else:
            self._asked[topic] = known
            self._send(known, search)

    def seek(self, topic: int, child: Contact) -> None:
        """Search for a way to a child off all greedy paths, as if the child had asked this peer.

        Events that pass here while the path changes may miss both the old and the new one, so the new one
        gives them again.
        """
        self._on_search(self._peer, TreeSearch(topic, child, 0, round(1e3 * self._join_timeout)))

    def _search(self, topic: int, lost_since: float | None) -> TreeSearch:
        """Return a search with the time of missed events, plus a margin for the search itself."""
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
        """Phase 2: make the joiner a descendant here, or pass the search on upwards."""
        joiner = search.joiner
        if joiner is None or search.hops > _MOST_HOPS:
            reason = "it lacks a part" if joiner is None else "it went too many hops"
            self._environment.drop(TreeSearch, reason)
            return
        branch = self.branches.get(search.topic)
        onward = TreeSearch(search.topic, joiner, search.hops + 1, search.missed_ms)
        if branch is None or not branch.attached:
            if sender == joiner.peer:
                self._give_missed(search.topic, sender, search.missed_ms)
            self._route_home(onward)
        elif joiner.peer == self._peer:
            return
        elif branch.is_home or self._grafts(branch, joiner):
            self._descend(search.topic, branch, joiner, search.missed_ms)
        else:
            self._send(branch.parent, onward)

    def _grafts(self, branch: Branch, joiner: Contact) -> bool:
        """Return whether the joiner's path begins here: by condition (2) of Algorithm 2, or by exact
        intervals."""
        if self._exact:
            return self._intervals.holds(branch, joiner.identifier)
        hop = self._ring.last_before(joiner.identifier)
        return hop is not None and hop.peer in branch.children

    def end_for(self, branch: Branch, child: Contact) -> int | None:
        """Return the end of the interval of a child on a greedy path; None off the paths.

        Where Algorithm 2 runs as printed, all paths that lead over the child here count as paths of the tree.
        """
        return self._intervals.end_for(branch, child) if self._exact else self._ring.end_of(child)

    def _descend(self, topic: int, branch: Branch, joiner: Contact, missed_ms: int) -> None:
        """Phase 3: make the next peer on the greedy path to the joiner a child, and have it continue.

        The last peer gives a joiner that comes back the events that it has missed.
        """
        hop = self._ring.last_before(joiner.identifier)
        if hop is None:
            return
        end = self.end_for(branch, hop)
        if end is None:
            return
        self._tree.begin_child(topic, hop, end)
        kept = self.kept.numbers(topic)
        self._send(hop.peer, TreePath(topic, joiner, branch.home, end, missed_ms, kept))
        if hop.peer == joiner.peer:
            self._give_missed(topic, hop.peer, missed_ms)

    def _give_missed(self, topic: int, peer: int, missed_ms: int) -> None:
        """Send the missed events to a peer that comes back, or that has a new home."""
        if missed_ms:
            for event in self.kept.since(topic, self._environment.now - missed_ms / 1e3):
                self._environment.send(peer, event)

    def _on_path(self, sender: int, path: TreePath) -> None:
        """Take the sender as the previous peer on the greedy path to the joiner."""
        topic = path.topic
        if path.joiner is None:
            self._environment.drop(TreePath, "it lacks a part")
        if path.joiner is None or not self._ring.ready:
            self._environment.send(sender, TreePart(1 << topic, 0))
            return
        if self._tree.at(topic).is_home:
            self.upkeep.check_homes()
        branch = self._tree.at(topic)
        if sender in branch.children:
            # The two peers were told of paths in opposite directions; the later one counts.
            self._tree.end_child(topic, sender)
        if branch.is_home:
            self._environment.send(sender, TreePart(1 << topic, 0))
        else:
            self._follow(sender, path, branch)
        if path.joiner.peer != self._peer:
            self._descend(topic, branch, path.joiner, path.missed_ms)
        self.prune([topic])

    def _follow(self, parent: int, path: TreePath, branch: Branch) -> None:
        """Take this parent, and ask it for missed events."""
        topic = path.topic
        lost_since = self._tree.lost_since.pop(topic, None)
        if branch.parent != parent:
            if branch.parent != NOBODY and lost_since is None:
                # The former parent may have been cut off itself, and children are not told of that.
                lost_since = self._environment.now - self._lifetime
            self._tree.end_parent(topic, tell=True)
            self._tree.begin_parent(topic, parent)
        branch.home = path.home
        self._end_join(topic)
        if branch.end != path.end:
            branch.end = path.end
            self.upkeep.bound([topic])
        self._ask_for_missed(parent, path, lost_since)

    def _ask_for_missed(self, parent: int, path: TreePath, lost_since: float | None) -> None:
        """Join once more, at the parent, if it has events that this peer or the joiner has missed."""
        if path.missed_ms:
            if path.joiner is not None and path.joiner.peer == self._peer:
                return  # the parent sends them
            since = self._environment.now - path.missed_ms / 1e3
            lost_since = since if lost_since is None else min(since, lost_since)
        if lost_since is not None and any(not self._has(event) for event in path.kept):
            self._send(parent, self._search(path.topic, lost_since))
