"""The copies of tree nodes: a node is at the k peers nearest to its key, and the nearest answers (section
3.6).

A peer that changes a node sends the change to the other peers that hold it. In each period, a peer compares
what it holds with one other peer, and it does so at once when a neighbour comes or goes, so that lost
messages are made good. A peer that has just joined holds back requests until it has compared with its
neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

from emulator.contract.protocol import Contact, Environment, Message, Timer
from emulator.protocols.pubsub.li.node import Entry, Name, TreeNode
from emulator.protocols.pubsub.li.parameters import LiParameters
from emulator.protocols.pubsub.li.placement import Placement
from trellis.v1.content import Comparison, ComparisonReply, NodeState, NodeUpdate

_HELD: Final = 1024
"""The most messages that a joining peer holds back."""


class Copies:
    """The tree nodes at one peer, as far as other peers hold them too."""

    def __init__(
        self,
        environment: Environment,
        placement: Placement,
        parameters: LiParameters,
        nodes: dict[Name, TreeNode],
        merge: Callable[[NodeState], None],
        settled: Callable[[], None],
    ) -> None:
        """`merge` adds a state to this peer's node; `settled` is called when this peer may answer."""
        self._environment = environment
        self._placement = placement
        self._parameters = parameters
        self._nodes = nodes
        self._merge = merge
        self._became_settled = settled
        self.settled = False
        """Whether this peer has compared with its neighbours since it joined, and may answer."""
        self._held: dict[Timer, None] = {}
        self._awaited: set[int] = set()
        environment.handle(NodeUpdate, self._on_update)
        environment.serve(Comparison, self._answer)

    def begin(self) -> None:
        """Fetch this peer's nodes from its two nearest neighbours, and then from all others."""
        self._environment.every(self._parameters.comparison, self._compare_with_one)
        self._placement.look_around()
        beside = self._placement.beside()
        self._fetch(beside, lambda: self._fetch(self._placement.neighbours, self._settle))

    def hold(self, handle: Callable[[], None]) -> None:
        """Make the call when this peer is settled, in the trace of what is handled now."""
        if len(self._held) < _HELD:

            def let_go() -> None:
                self._held.pop(timer, None)
                handle()

            timer = self._environment.set_timer(self._parameters.retry, let_go)
            self._held[timer] = None

    def tell(self, node: TreeNode, entries: Iterable[Entry] = ()) -> None:
        """Send the node's position and these entries of it to the others that hold it."""
        self._placement.look_around()
        update = NodeUpdate([node.change(entries)])
        for peer in self._placement.holders(node.name):
            if peer != self._environment.peer:
                self._environment.send(peer, update)

    def compare(self, peer: int, then: Callable[[], None] | None = None) -> None:
        """Exchange what differs with a peer; `then` is called at the end, even if the peer did not answer."""
        self._placement.look_around()
        is_partner = self._placement.is_partner
        listed = {name: node.digest for name, node in self._nodes.items() if is_partner(peer, name)}
        comparison = Comparison(
            self._placement.me(),
            [attribute for attribute, _ in listed],
            [position for _, position in listed],
            list(listed.values()),
        )

        def replied(reply: Message) -> None:
            if isinstance(reply, ComparisonReply) and len(reply.attributes) == len(reply.positions):
                self._on_reply(peer, reply, listed)
            if then is not None:
                then()

        timeout = self._parameters.patience
        self._environment.request(peer, comparison, timeout, replied, then or _do_nothing)

    def compare_with_all(self) -> None:
        """Exchange what differs with every peer that shares nodes with this one, because a peer has left."""
        for peer in self._partners(self._nodes):
            self.compare(peer)

    def compare_with(self, newcomers: Iterable[int]) -> None:
        """Exchange what differs with new neighbours, and give away what this peer is no longer to hold."""
        self._placement.look_around()
        holders, peer = self._placement.holders, self._environment.peer
        others = self._partners([name for name in self._nodes if peer not in holders(name)])
        for other in dict.fromkeys([*newcomers, *others]):
            self.compare(other)

    def leave(self) -> None:
        """Give every node to the next nearest peer, without waiting for answers."""
        self._placement.look_around()
        if self._placement.neighbours:
            for name, node in self._nodes.items():
                heir = self._placement.nearest(name, self._placement.neighbours)[0]
                self._environment.send(heir, NodeUpdate([node.state()]))

    def _partners(self, names: Iterable[Name]) -> list[int]:
        """Return every peer that compares one of these nodes with this one."""
        self._placement.look_around()
        partners: dict[int, None] = {}
        for name in names:
            for partner in self._placement.partners(name):
                partners[partner] = None
        return list(partners)

    def _fetch(self, contacts: Sequence[Contact], then: Callable[[], None]) -> None:
        """Compare with all of these peers, then make the call."""
        self._awaited = {contact.peer for contact in contacts}
        if not contacts:
            then()

        def done(peer: int) -> None:
            self._awaited.discard(peer)
            if not self._awaited:
                then()

        for contact in contacts:
            self.compare(contact.peer, partial(done, contact.peer))

    def _settle(self) -> None:
        self.settled = True
        for timer in self._held:
            timer.hasten()
        self._held.clear()
        self._became_settled()

    def _compare_with_one(self) -> None:
        for node in self._nodes.values():
            node.forget_ended(self._environment.now)
        partners = self._partners(self._nodes)
        if partners:
            self.compare(self._environment.random.choice(partners))

    def _on_update(self, sender: int, update: NodeUpdate) -> None:
        for state in update.nodes:
            self._merge(state)

    def _answer(self, sender: int, comparison: Comparison) -> ComparisonReply | None:
        """Give what differs and what the sender lacks, and ask for what differs or is not here."""
        contact = comparison.sender
        counts = {len(comparison.attributes), len(comparison.positions), len(comparison.digests)}
        if contact is None or len(counts) > 1:
            self._environment.drop(Comparison, "it lacks a part, or its lists do not fit together")
            return None
        placement = self._placement
        placement.look_around()
        known = placement.knows(contact)
        everybody = [*placement.neighbours, placement.me(), contact]
        names = list(zip(comparison.attributes, comparison.positions, strict=True))
        listed = dict(zip(names, comparison.digests, strict=True))
        reply = ComparisonReply()
        for name, node in self._nodes.items():
            digest = listed.get(name)
            if digest is None:
                holders = placement.holders(name) if known else placement.nearest(name, everybody)
                if sender in holders:
                    reply.nodes.append(node.state())
            elif digest != node.digest:
                reply.nodes.append(node.state())
        for name, digest in listed.items():
            held = self._nodes.get(name)
            if held is None or held.digest != digest:
                reply.attributes.append(name[0])
                reply.positions.append(name[1])
        return reply

    def _on_reply(self, peer: int, reply: ComparisonReply, listed: dict[Name, int]) -> None:
        for state in reply.nodes:
            self._merge(state)
        wanted = list(zip(reply.attributes, reply.positions, strict=True))
        states = [self._nodes[name].state() for name in wanted if name in self._nodes]
        if states:
            self._environment.send(peer, NodeUpdate(states))
        for name in listed.keys() - set(wanted):
            node = self._nodes.get(name)
            if node is not None and node.digest == listed[name]:
                holders = self._placement.holders(name)
                if self._environment.peer not in holders and holders[0] == peer:
                    # The nearest peer holds all that this peer has of the node.
                    del self._nodes[name]


def _do_nothing() -> None:
    """Do nothing; the next comparison will mend what this one missed."""
