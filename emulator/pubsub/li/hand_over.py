"""Whose node is whose when peers come and go (section 3.6).

A node goes to a peer that is closer to its identifier as soon as that is noticed; a peer that has just
joined asks its neighbours for what is its own, and until they have answered it entrusts them with messages
for nodes that it does not have. Copies of a peer that is gone go to whoever is closest then.
"""

from __future__ import annotations

from collections.abc import Callable

from google.protobuf.message import Message
from trellis.v1.content_pb2 import Entrusted, HandOver, HandOverAck, HandOverRequest, NodeState

from emulator.protocol import Environment, Handler
from emulator.pubsub.li.node import Name
from emulator.pubsub.li.parameters import LiParameters
from emulator.pubsub.li.replication import Replication
from emulator.pubsub.li.space import Schema
from emulator.pubsub.li.tree import Tree
from emulator.pubsub.li.wire import Wire

_REMEMBERED = 1024
"""Nodes of which a peer knows who took them."""

_Versions = dict[Name, int | None]
"""Of nodes that were sent; None for a copy."""


class HandOvers:
    """What one peer gives to others and expects of them."""

    def __init__(
        self,
        environment: Environment,
        wire: Wire,
        schema: Schema,
        parameters: LiParameters,
        tree: Tree,
        replication: Replication,
        became_ready: Callable[[], None],
    ) -> None:
        self._environment = environment
        self._wire = wire
        self._schema = schema
        self._parameters = parameters
        self._tree = tree
        self._replication = replication
        self._became_ready = became_ready
        self.ready = False
        """Has what it is to answer for."""
        self._awaited: set[int] = set()
        self._answering = False
        self._pending: dict[int, tuple[int, _Versions]] = {}
        # An answer to an earlier session may not pass for one to this.
        self._last = int(environment.now * 1000)
        self._gone: set[int] = set()
        self._settling = False
        self._takers: dict[Name, int] = {}

    def handlers(self) -> dict[type[Message], Handler]:
        return {
            HandOverRequest: self._on_request,
            HandOver: self._on_hand_over,
            HandOverAck: self._on_ack,
        }

    def begin(self) -> None:
        """The overlay is ready: ask all neighbours, wait for those on both sides."""
        beside = self._wire.beside()
        self._awaited = set(beside)
        # The others may take this peer for one that still has their copies.
        for peer in self._wire.neighbours():
            self._wire.send(peer, HandOverRequest())
        if beside:
            self._environment.set_timer(self._parameters.retry, self._finish)
        else:
            self._finish()

    def on_unreachable(self, peer: int) -> None:
        """What it was sent is still here; the next neighbour may take it."""
        for number in [number for number, (receiver, _) in self._pending.items() if receiver == peer]:
            del self._pending[number]
            self.later()
        self._answered(peer)

    def update(self, peer: int, joined: bool) -> None:
        """A neighbour came or went."""
        if joined:
            self._gone.discard(peer)
        else:
            self._gone.add(peer)
        self.later()

    def later(self) -> None:
        """See shortly what belongs to whom."""
        if self._settling:
            return
        if self._tree.nodes or self._replication.copies:
            self._settling = True
            self._environment.set_timer(self._parameters.settling, self._settle)
        else:
            self._gone.clear()

    def entrust(self, name: Name, message: Message, origin: int, hops: int) -> bool:
        """Give a message for a node that is not here to the neighbour that has it, if this peer is new."""
        if self.ready or self._answering or self._tree.find(name) is not None:
            return False
        neighbour = self._wire.closest(self._schema.key(*name), self._wire.neighbours())
        if neighbour is None:
            return False
        self._wire.send(
            neighbour,
            Entrusted(
                type=type(message).__name__, payload=message.SerializeToString(), origin=origin, hops=hops + 1
            ),
        )
        return True

    def taker(self, name: Name) -> int | None:
        """The peer that took the node over, if it is not here any more."""
        return None if name in self._tree.nodes else self._takers.get(name)

    def answer(self, handle: Callable[[], None]) -> None:
        """Handle a message that was entrusted to this peer, and entrust nobody else with it."""
        self._answering = True
        try:
            handle()
        finally:
            self._answering = False

    def leave(self) -> None:
        """Give every node to the neighbour that is closest to it, without waiting for answers."""
        neighbours = self._wire.neighbours()
        states: dict[int, list[NodeState]] = {}
        for name, node in self._tree.nodes.items():
            peer = self._wire.closest(self._schema.key(*name), neighbours)
            if peer is not None:
                states.setdefault(peer, []).append(node.state())
        for peer, nodes in states.items():
            self._wire.send(peer, HandOver(nodes=nodes))

    def _settle(self) -> None:
        self._settling = False
        self._replication.refresh()
        neighbours = self._wire.neighbours()
        under_way = {name for _, versions in self._pending.values() for name in versions}
        moving: dict[int, _Versions] = {}
        for name, node in self._tree.nodes.items():
            peer = None if name in under_way else self._other_home(name, neighbours)
            if peer is not None:
                moving.setdefault(peer, {})[name] = node.version
        for name in [name for name, copy in self._replication.copies.items() if copy.owner in self._gone]:
            peer = self._other_home(name, neighbours)
            if peer is None:
                self._tree.recover(name)
            elif name not in under_way:
                moving.setdefault(peer, {})[name] = None
        self._gone &= {copy.owner for copy in self._replication.copies.values()}
        for peer, versions in moving.items():
            self._send(peer, versions)

    def _other_home(self, name: Name, neighbours: list[int]) -> int | None:
        """The peer that a node belongs to, if that is another."""
        key = self._schema.key(*name)
        if self._wire.is_home(key):
            return None
        peer = self._wire.closest(key, neighbours)
        return peer if peer is not None and self._wire.is_closer(peer, key) else None

    def _send(self, peer: int, versions: _Versions, *, complete: bool = False) -> None:
        states = []
        for name in versions:
            node = self._tree.nodes.get(name)
            copy = self._replication.copies.get(name)
            if node is not None:
                states.append(node.state())
            elif copy is not None:
                states.append(copy.state(name))
        self._last += 1
        number = self._last
        self._pending[number] = peer, versions
        self._environment.set_timer(self._parameters.retry, lambda: self._overdue(number))
        self._wire.send(peer, HandOver(nodes=states, transfer=number, complete=complete))

    def _overdue(self, number: int) -> None:
        if self._pending.pop(number, None) is not None:
            self.later()

    def _on_request(self, sender: int, message: HandOverRequest) -> None:
        """The sender is new, or came back before it was missed: it has nothing, of its own or for others."""
        versions: _Versions = {
            name: None for name, copy in self._replication.copies.items() if copy.owner == sender
        }
        for name, node in self._tree.nodes.items():
            if self._wire.is_closer(sender, self._schema.key(*name)):
                versions[name] = node.version
        self._replication.renew(sender)
        if versions:
            self._send(sender, versions, complete=True)
        else:
            self._wire.send(sender, HandOver(complete=True))

    def _on_hand_over(self, sender: int, message: HandOver) -> None:
        for state in message.nodes:
            self._tree.recover((state.attribute, state.position))
            # The sender may have had a copy, which it is to have again.
            self._replication.turned(self._tree.absorb(state))
        if message.transfer:
            self._wire.send(sender, HandOverAck(transfer=message.transfer))
        if message.nodes:
            self.later()
        if message.complete:
            self._answered(sender)

    def _on_ack(self, sender: int, message: HandOverAck) -> None:
        peer, versions = self._pending.pop(message.transfer, (sender, {}))
        moved = []
        for name, version in versions.items():
            if version is None:
                copy = self._replication.copies.get(name)
                if copy is not None and copy.owner != peer:  # else it is the new owner's by now
                    del self._replication.copies[name]
                continue
            node = self._tree.nodes.get(name)
            if node is not None and node.version == version:
                moved.append(self._tree.nodes.pop(name))
                self._takers.pop(name, None)
                self._takers[name] = peer
            elif node is not None:
                self.later()
        self._replication.release(moved)
        while len(self._takers) > _REMEMBERED:
            del self._takers[next(iter(self._takers))]

    def _answered(self, peer: int) -> None:
        if peer in self._awaited:
            self._awaited.discard(peer)
            if not self._awaited:
                self._finish()

    def _finish(self) -> None:
        if not self.ready:
            self.ready = True
            self._became_ready()
