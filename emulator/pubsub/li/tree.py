"""The tree nodes at one peer: storing, splitting and what follows from it (section 3.2.2, program 3.1).

A leaf that splits answers for its area until both halves have acknowledged what was transferred to them;
only then it becomes an inner node. So an event finds every subscription wherever its probe arrives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from google.protobuf.message import Message
from trellis.v1.content_pb2 import (
    LeafUpdate,
    NodeState,
    TableReply,
    TableRequest,
    TransferSub,
    TransferSubAck,
)

from emulator.protocol import Environment, Handler, Timer
from emulator.pubsub.li.node import Identity, Name, Stored, TreeNode, Witness
from emulator.pubsub.li.parameters import LiParameters
from emulator.pubsub.li.space import ROOT, Schema, ancestor, halves, is_below, level_of
from emulator.pubsub.li.wire import Wire


class _Transfer:
    __slots__ = ("leaf", "message", "timer")

    def __init__(self, message: TransferSub, leaf: TreeNode | None) -> None:
        self.message = message
        self.leaf = leaf
        """The leaf that splits; None if the subscriptions were not those of a leaf here."""
        self.timer: Timer | None = None


class Tree:
    """The part of all attributes' trees that one peer holds."""

    def __init__(
        self,
        environment: Environment,
        wire: Wire,
        schema: Schema,
        parameters: LiParameters,
        give_up_copy: Callable[[Name], NodeState | None],
    ) -> None:
        """`give_up_copy` removes and returns the copy of a node that is kept for a neighbour."""
        self._environment = environment
        self._wire = wire
        self._schema = schema
        self._parameters = parameters
        self._give_up_copy = give_up_copy
        self.capacity = environment.random.randint(*parameters.capacity)
        """Subscriptions that a leaf here holds before it splits."""
        self.nodes: dict[Name, TreeNode] = {}
        self.witness: Witness | None = None
        self._transfers: dict[int, _Transfer] = {}
        # An answer to an earlier session may not pass for one to this.
        self._last_transfer = int(environment.now * 1000)

    def handlers(self) -> dict[type[Message], Handler]:
        return {TransferSubAck: self._on_transfer_ack, TableReply: self._on_table}

    def find(self, name: Name) -> TreeNode | None:
        """The node, if this peer holds it or kept its copy for a neighbour that is gone."""
        return self.nodes.get(name) or self.recover(name)

    def recover(self, name: Name) -> TreeNode | None:
        """Take the node over of which this peer keeps a copy, if it does."""
        state = self._give_up_copy(name)
        if state is None:
            return None
        node = self.absorb(state)
        if state.inner:
            self._ask_for_table(node)
        return node

    def locate(self, name: Name, x: float, y: float, known: bool) -> TreeNode | int:
        """The leaf here that covers the point, or else the position at which to go on looking.

        A node that does not exist is too deep: half its level is the next guess (section 3.3). One that
        does not exist although a table names it (`known`) was lost, and begins anew; so does the root.
        """
        node = self.find(name)
        if node is None:
            if not known and name[1] != ROOT:
                return ancestor(name[1], level_of(name[1]) // 2)
            node = self._create(name)
        if node.subscriptions is None:
            return node.table.leaf_of(x, y)
        return node

    def store(self, leaf: TreeNode, subscriptions: Iterable[Stored]) -> bool:
        """Add to a leaf what it lacks, and split it if that is too much. Whether there was any."""
        held = leaf.subscriptions
        assert held is not None
        new = [stored for stored in subscriptions if stored.identity not in held]
        held.update((stored.identity, stored) for stored in new)
        if not new:
            return False
        leaf.version += 1
        if self.witness is not None:
            self.witness.added(leaf, new)
        if leaf.transfers:
            self._to_halves(leaf, new, only_filled=True)
        elif len(held) > self.capacity and self._divisible(leaf):
            leaf.table.update([leaf.position])
            self._split_if_known_to_be(leaf)
        return True

    def remove(self, leaf: TreeNode, identity: Identity) -> Stored | None:
        """Take a subscription out of a leaf and return it."""
        assert leaf.subscriptions is not None
        stored = leaf.subscriptions.pop(identity, None)
        if stored is not None:
            leaf.version += 1
            if self.witness is not None:
                self.witness.removed(leaf, stored)
        return stored

    def absorb(self, state: NodeState) -> TreeNode:
        """Take a node over. What is here of it already is merged: the tree only grows."""
        name = state.attribute, state.position
        node = self.nodes.get(name)
        if node is None:
            node = TreeNode(self._schema, name)
            if state.inner:
                node.subscriptions = None
            self._add(node)
        node.table.update([*state.splits, state.position] if state.inner else state.splits)
        node.version += 1
        self._take_in(node, [Stored(subscription) for subscription in state.subscriptions])
        self._split_if_known_to_be(node)
        return node

    def on_transfer(self, message: TransferSub, origin: int) -> None:
        """Subscriptions of a half of a leaf that splits; the half need not exist yet."""
        name = message.attribute, message.position
        node = self.find(name) or self._create(name)
        self._take_in(node, [Stored(subscription) for subscription in message.subscriptions])
        self._wire.send(origin, TransferSubAck(transfer=message.transfer))

    def on_leaf_update(self, message: LeafUpdate) -> None:
        """Nodes below this one are leaves no more; the parent is told, and so on to the root."""
        name = message.attribute, message.position
        node = self.find(name)
        if node is None:
            # It must have been split, since its halves exist: somebody lost it.
            self.absorb(NodeState(attribute=name[0], position=name[1], inner=True, splits=message.splits))
            return
        node.table.update(message.splits)
        node.version += 1
        if node.subscriptions is None:
            self._tell_parent(node, message.splits)
        else:
            self._split_if_known_to_be(node)

    def on_table_request(self, message: TableRequest, origin: int) -> None:
        """A new home of an inner node next to this one wants to know the leaves below it."""
        node = self.find((message.attribute, message.position))
        if node is not None:
            splits = sorted(split for split in node.table.splits if is_below(split, message.below))
            reply = TableReply(attribute=message.attribute, position=message.below, splits=splits)
            self._wire.send(origin, reply)

    def _ask_for_table(self, node: TreeNode) -> None:
        """Of the parent (section 3.6); the root has none and asks its halves."""
        position = node.position
        for other in (2, 3) if position == ROOT else (position // 2,):
            request = TableRequest(attribute=node.attribute, position=other, below=position)
            self._wire.route(self._schema.key(node.attribute, other), request)

    def _on_table(self, sender: int, message: TableReply) -> None:
        node = self.nodes.get((message.attribute, message.position))
        if node is not None and node.subscriptions is None:
            node.table.update(message.splits)

    def _create(self, name: Name) -> TreeNode:
        node = TreeNode(self._schema, name)
        self._add(node)
        return node

    def _add(self, node: TreeNode) -> None:
        self.nodes[node.name] = node
        if self.witness is not None:
            self.witness.turned(node)

    def _take_in(self, node: TreeNode, subscriptions: Sequence[Stored]) -> None:
        if node.subscriptions is not None:
            self.store(node, subscriptions)
            return
        below: dict[int, list[Stored]] = {}
        for stored in subscriptions:
            below.setdefault(node.table.leaf_of(stored.low, stored.high), []).append(stored)
        for position, some in below.items():
            self._send(self._transfer((node.attribute, position), some, None))

    def _split_if_known_to_be(self, node: TreeNode) -> None:
        """A leaf whose halves exist, or are to exist, hands its subscriptions to them."""
        if node.subscriptions is not None and node.table.splits and not node.transfers:
            if self.witness is not None:
                self.witness.turned(node)
            self._to_halves(node, node.subscriptions.values())

    def _divisible(self, leaf: TreeNode) -> bool:
        """Splitting ends at a level, and does not pull equal points apart."""
        assert leaf.subscriptions is not None
        points = {(stored.low, stored.high) for stored in leaf.subscriptions.values()}
        return leaf.level < self._parameters.deepest_level and len(points) > 1

    def _to_halves(
        self, leaf: TreeNode, subscriptions: Iterable[Stored], *, only_filled: bool = False
    ) -> None:
        """Program 3.1: both halves get their part, even if it is empty, so that they exist."""
        _, upper = halves(self._schema.attributes[leaf.attribute].area(leaf.position), leaf.level)
        parts: tuple[list[Stored], list[Stored]] = ([], [])
        for stored in subscriptions:
            is_upper = (stored.low >= upper[0]) if leaf.level % 2 == 0 else (stored.high >= upper[2])
            parts[is_upper].append(stored)
        transfers = [
            self._transfer((leaf.attribute, 2 * leaf.position + half), part, leaf)
            for half, part in enumerate(parts)
            if part or not only_filled
        ]
        for number in transfers:
            self._send(number)

    def _transfer(self, name: Name, subscriptions: Iterable[Stored], leaf: TreeNode | None) -> int:
        self._last_transfer += 1
        number = self._last_transfer
        message = TransferSub(
            attribute=name[0],
            position=name[1],
            subscriptions=[stored.message for stored in subscriptions],
            transfer=number,
        )
        self._transfers[number] = _Transfer(message, leaf)
        if leaf is not None:
            leaf.transfers.add(number)
        return number

    def _send(self, number: int) -> None:
        transfer = self._transfers.get(number)
        if transfer is not None:
            message = transfer.message
            transfer.timer = self._environment.set_timer(self._parameters.retry, lambda: self._send(number))
            self._wire.route(self._schema.key(message.attribute, message.position), message)

    def _on_transfer_ack(self, sender: int, message: TransferSubAck) -> None:
        transfer = self._transfers.pop(message.transfer, None)
        if transfer is None:
            return
        if transfer.timer is not None:
            transfer.timer.cancel()
        leaf = transfer.leaf
        if leaf is not None:
            leaf.transfers.discard(message.transfer)
            if not leaf.transfers and self.nodes.get(leaf.name) is leaf:
                self._turn(leaf)

    def _turn(self, leaf: TreeNode) -> None:
        """The halves have everything: from now on this is an inner node."""
        leaf.subscriptions = None
        leaf.version += 1
        if self.witness is not None:
            self.witness.turned(leaf)
        self._tell_parent(leaf, sorted(leaf.table.splits))

    def _tell_parent(self, node: TreeNode, splits: Iterable[int]) -> None:
        if node.position != ROOT:
            parent = node.position // 2
            update = LeafUpdate(attribute=node.attribute, position=parent, splits=splits)
            self._wire.route(self._schema.key(node.attribute, parent), update)
