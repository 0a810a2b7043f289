"""Copies of subscriptions and of tree positions at the neighbours in identifier space (section 3.6).

A leaf's copy has its subscriptions; an inner node's copy only says that it is one, because its table
changes often and can be had from its parent.
"""

from __future__ import annotations

from collections.abc import Iterable

from google.protobuf.message import Message
from trellis.v1.content_pb2 import NodeState, Replica, SubscriptionObject

from emulator.protocol import Handler, Overlay
from emulator.pubsub.li.node import Identity, Name, Stored, TreeNode
from emulator.pubsub.li.wire import Wire


class Copy:
    """A node of another peer."""

    __slots__ = ("inner", "owner", "split", "subscriptions")

    def __init__(self, owner: int, split: bool = False, inner: bool = False) -> None:
        self.owner = owner
        self.split = split
        self.inner = inner
        self.subscriptions: dict[Identity, SubscriptionObject] = {}

    def state(self, name: Name) -> NodeState:
        """The node as another peer can take it over."""
        return NodeState(
            attribute=name[0],
            position=name[1],
            inner=self.inner,
            subscriptions=self.subscriptions.values(),
            splits=[name[1]] if self.split else [],
        )


class Replication:
    """The copies that a peer has made of its nodes, and those that it keeps for others."""

    def __init__(self, wire: Wire, overlay: Overlay, nodes: dict[Name, TreeNode], count: int) -> None:
        """`nodes` are this peer's; each has copies at `count` neighbours."""
        self._wire = wire
        self._overlay = overlay
        self._nodes = nodes
        self._count = count
        self._members: list[int] = []
        self._version: int | None = None
        self.copies: dict[Name, Copy] = {}

    def handlers(self) -> dict[type[Message], Handler]:
        return {Replica: self._on_replica}

    def give_up(self, name: Name) -> NodeState | None:
        """Give up the copy of a node, which this peer is to answer for now."""
        copy = self.copies.pop(name, None)
        return None if copy is None else copy.state(name)

    def added(self, node: TreeNode, subscriptions: Iterable[Stored]) -> None:
        self._tell(node, Replica.ADDED, [stored.message for stored in subscriptions])

    def removed(self, node: TreeNode, stored: Stored) -> None:
        self._tell(node, Replica.REMOVED, [stored.message])

    def turned(self, node: TreeNode) -> None:
        if self._count:
            self.refresh()
            self._send(_whole(node), self._members)

    def refresh(self) -> None:
        """See who the neighbours are now: copies for new ones, none for those that were and are no more."""
        if not self._count or self._version == self._overlay.routes_version:
            return
        self._version = self._overlay.routes_version
        members = self._wire.neighbours(self._count)
        new = [peer for peer in members if peer not in self._members]
        former = [peer for peer in self._members if peer not in members]
        self._members = members
        for node in self._nodes.values():
            if new:
                self._send(_whole(node), new)
            if former:
                self._send(_dropped(node), former)

    def renew(self, peer: int) -> None:
        """The peer has lost the copies that it had."""
        if peer in self._members:
            for node in self._nodes.values():
                self._send(_whole(node), [peer])

    def release(self, nodes: Iterable[TreeNode]) -> None:
        """These nodes are another peer's now, which makes copies of its own."""
        for node in nodes:
            self._send(_dropped(node), self._members)

    def _tell(self, node: TreeNode, change: Replica.Change, subscriptions: list[SubscriptionObject]) -> None:
        if self._count:
            self.refresh()
            message = Replica(
                attribute=node.attribute,
                position=node.position,
                change=change,
                subscriptions=subscriptions,
            )
            self._send(message, self._members)

    def _send(self, message: Replica, peers: Iterable[int]) -> None:
        for peer in peers:
            self._wire.send(peer, message)

    def _on_replica(self, sender: int, message: Replica) -> None:
        name = message.attribute, message.position
        copy = self.copies.get(name)
        if message.change == Replica.DROPPED:
            if copy is not None and copy.owner == sender:
                del self.copies[name]
            return
        if copy is None or message.change == Replica.WHOLE:
            copy = self.copies[name] = Copy(sender, message.split, message.inner)
        copy.owner = sender
        for subscription in message.subscriptions:
            identity = subscription.subscriber, subscription.sid, subscription.piece
            if message.change == Replica.REMOVED:
                copy.subscriptions.pop(identity, None)
            else:
                copy.subscriptions[identity] = subscription


def _whole(node: TreeNode) -> Replica:
    return Replica(
        attribute=node.attribute,
        position=node.position,
        change=Replica.WHOLE,
        split=bool(node.table.splits),
        inner=node.subscriptions is None,
        subscriptions=[stored.message for stored in (node.subscriptions or {}).values()],
    )


def _dropped(node: TreeNode) -> Replica:
    return Replica(attribute=node.attribute, position=node.position, change=Replica.DROPPED)
