"""A node of a 2d-tree, as the peer that its identifier belongs to holds it (section 3.2.2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol as Interface

from trellis.v1.content_pb2 import NodeState, SubscriptionObject

from emulator.pubsub.li.routing_table import LeafNodeRoutingTable
from emulator.pubsub.li.space import Schema, level_of

Name = tuple[int, int]
"""(attribute, position) of a tree node."""
Identity = tuple[int, int, int]
"""(subscriber, sid, piece) of a stored subscription."""


class Stored:
    """A subscription object, laid out for matching."""

    __slots__ = ("high", "identity", "low", "message", "others")

    def __init__(self, message: SubscriptionObject) -> None:
        self.message = message
        self.identity: Identity = (message.subscriber, message.sid, message.piece)
        ranges = zip(message.attributes, message.lows, message.highs, strict=True)
        _, self.low, self.high = next(ranges)
        """The point."""
        self.others = tuple(ranges)
        """(attribute, low, high) of the ranges over other attributes."""


class TreeNode:
    """A leaf with its subscriptions, or an inner node; with what it knows of the leaves below it."""

    __slots__ = ("attribute", "position", "subscriptions", "table", "transfers", "version")

    def __init__(self, schema: Schema, name: Name) -> None:
        """An empty leaf."""
        self.attribute, self.position = name
        self.table = LeafNodeRoutingTable(schema.attributes[self.attribute], self.position)
        self.subscriptions: dict[Identity, Stored] | None = {}
        """None in an inner node."""
        self.transfers: set[int] = set()
        """Not yet acknowledged, of a leaf that splits. Until then it answers for its area itself."""
        self.version = 0
        """Counts changes."""

    @property
    def name(self) -> Name:
        return self.attribute, self.position

    @property
    def level(self) -> int:
        return level_of(self.position)

    def state(self) -> NodeState:
        """The whole node, for another peer."""
        subscriptions = self.subscriptions
        return NodeState(
            attribute=self.attribute,
            position=self.position,
            inner=subscriptions is None,
            subscriptions=[stored.message for stored in (subscriptions or {}).values()],
            splits=sorted(self.table.splits),
        )


class Witness(Interface):
    """Who must hear of changes, to keep copies."""

    def added(self, node: TreeNode, subscriptions: Iterable[Stored]) -> None:
        """The leaf stores these now."""
        ...

    def removed(self, node: TreeNode, stored: Stored) -> None:
        """The leaf stores this no more."""
        ...

    def turned(self, node: TreeNode) -> None:
        """The node is new here, or is a leaf that begins to split, or was one and is an inner node now."""
        ...
