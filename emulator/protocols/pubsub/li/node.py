"""A node of a 2d-tree, as each of the peers nearest to its key holds it (sections 3.2.2 and 3.6).

What two peers hold of a node can be merged in any order and more than once: a split node stays split, the
table of leaves only grows, and of two versions of a subscription the later one stays. Messages between those
peers may therefore be late, repeated or lost; a later comparison makes a lost one good.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from emulator.contract.recent import RecentNumbers
from emulator.protocols.pubsub.li.leaf_table import LeafNodeRoutingTable
from emulator.protocols.pubsub.li.space import Schema, level_of
from trellis.v1.content import NodeState, SubscriptionObject

Name = tuple[int, int]
"""The name of a tree node: (attribute, position)."""
Identity = tuple[int, int, int]
"""The identity of a subscription object: (subscriber, sid, piece)."""

_DIGEST: Final = 0xFFFFFFFF


def is_sound(subscription: SubscriptionObject, schema: Schema) -> bool:
    """Return whether a subscription has a range for each of its attributes, which are one or more of the
    schema."""
    attributes = subscription.attributes
    return 0 < len(attributes) == len(subscription.lows) == len(subscription.highs) and max(attributes) < len(
        schema.attributes
    )


def version_of(subscription: SubscriptionObject) -> int:
    """Return the key that orders the versions of a subscription, which only its subscriber makes."""
    return 2 * subscription.until + subscription.withdrawn


def with_end(subscription: SubscriptionObject, until: int, withdrawn: bool) -> SubscriptionObject:
    """Return another version of the same subscription."""
    return SubscriptionObject(
        subscription.subscriber,
        subscription.sid,
        subscription.piece,
        subscription.attributes,
        subscription.lows,
        subscription.highs,
        until,
        withdrawn,
    )


class Entry:
    """A subscription object in a leaf, laid out for matching."""

    __slots__ = ("digest", "high", "identity", "low", "message", "others", "version")

    def __init__(self, message: SubscriptionObject) -> None:
        self.message = message
        self.identity: Identity = (message.subscriber, message.sid, message.piece)
        self.version = version_of(message)
        # Hashes of whole numbers, unlike those of strings, are the same in every process.
        self.digest = hash((*self.identity, self.version)) & _DIGEST
        self.low = message.lows[0]
        self.high = message.highs[0]
        """The point (low, high) of the range over the base attribute."""
        self.others = list(zip(message.attributes[1:], message.lows[1:], message.highs[1:], strict=True))
        """The ranges over other attributes, as (attribute, low, high)."""


class TreeNode:
    """A leaf with its subscriptions, or an inner node, with what it knows of the leaves below it."""

    __slots__ = (
        "_first_end",
        "attribute",
        "awaited",
        "entries",
        "inner",
        "position",
        "probed",
        "sum",
        "table",
        "transfer",
    )

    def __init__(self, schema: Schema, name: Name, probed: RecentNumbers) -> None:
        """Make an empty leaf."""
        self.probed = probed
        """The events for which the node was probed lately."""
        self.attribute, self.position = name
        self.table = LeafNodeRoutingTable(schema.attributes[self.attribute], self.position)
        self.inner = False
        """Whether this is an inner node, whose halves have taken over all that it held."""
        self.entries: dict[Identity, Entry] = {}
        """The subscriptions of a leaf, also withdrawn ones until they end. An inner node has none."""
        self._first_end = math.inf
        """The trial time in seconds before which no entry ends."""
        self.sum = 0
        self.transfer = 0
        """The number of the last transfer to the halves, if this peer has begun one."""
        self.awaited: set[int] = set()
        """The halves that have not acknowledged the transfer. Until then the node answers for its area
        itself."""

    @property
    def name(self) -> Name:
        return self.attribute, self.position

    @property
    def level(self) -> int:
        return level_of(self.position)

    @property
    def split(self) -> bool:
        """Whether the node's halves exist, or are about to."""
        return self.position in self.table.splits

    @property
    def digest(self) -> int:
        """A number that is equal for equal subscriptions and positions.

        The table changes too often to be part of it.
        """
        return (self.sum + 2 * self.inner + self.split) & _DIGEST

    def put(self, message: SubscriptionObject) -> Entry | None:
        """Store a version of a subscription. Returns None if it or a later version is stored already."""
        former = self.entries.get((message.subscriber, message.sid, message.piece))
        if former is not None:
            if former.version >= version_of(message):
                return None
            self.sum -= former.digest
        entry = Entry(message)
        self.sum += entry.digest
        self.entries[entry.identity] = entry
        if message.until < self._first_end:
            self._first_end = float(message.until)
        return entry

    def live(self) -> list[Entry]:
        """Return the subscriptions that were not withdrawn."""
        return [entry for entry in self.entries.values() if not entry.message.withdrawn]

    def forget_ended(self, now: float) -> None:
        """Remove the subscriptions that were not renewed in time."""
        if now < self._first_end:
            return
        for identity in [i for i, entry in self.entries.items() if entry.message.until <= now]:
            self.sum -= self.entries.pop(identity).digest
        ends = [entry.message.until for entry in self.entries.values()]
        self._first_end = float(min(ends)) if ends else math.inf

    def turn_inner(self) -> None:
        """Become an inner node: the halves hold everything now."""
        self.table.update([self.position])
        self.inner = True
        self.entries = {}
        self.sum = self.transfer = 0
        self.awaited.clear()

    def state(self) -> NodeState:
        """Return the whole node with its table, for another peer."""
        subscriptions = [entry.message for entry in self.entries.values()]
        return NodeState(*self.name, self.inner, subscriptions, sorted(self.table.splits))

    def change(self, entries: Iterable[Entry]) -> NodeState:
        """Return the node's position and these entries alone, for peers that hold the rest."""
        splits = [self.position] if self.split else []
        return NodeState(*self.name, self.inner, [entry.message for entry in entries], splits)
