"""The tree nodes at one peer: how they store subscriptions and split (sections 3.2.2 and 3.3).

A leaf that splits answers for its area until both halves have acknowledged the transfer; only then it becomes
an inner node. So an event finds every subscription wherever its probe arrives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from emulator.contract.protocol import Environment, Installation, Message, Overlay
from emulator.contract.recent import RecentNumbers
from emulator.protocols.pubsub.li.copies import Copies
from emulator.protocols.pubsub.li.direct_messages import Post
from emulator.protocols.pubsub.li.node import Entry, Name, TreeNode, is_sound, with_end
from emulator.protocols.pubsub.li.parameters import LiParameters
from emulator.protocols.pubsub.li.placement import Placement
from emulator.protocols.pubsub.li.space import ROOT, Schema, ancestor, halves, is_below, level_of
from trellis.v1.content import (
    InsertSub,
    InsertSubAck,
    LeafUpdate,
    NodeState,
    NodeUpdate,
    ProbeSub,
    ProbeSubAck,
    SubscriptionObject,
    TableRequest,
    TransferSub,
    TransferSubAck,
)


class Tree:
    """The part of all attributes' trees that one peer holds."""

    def __init__(
        self,
        environment: Environment,
        overlay: Overlay,
        post: Post,
        schema: Schema,
        parameters: LiParameters,
        settled: Callable[[], None],
    ) -> None:
        """`settled` is called when this peer has the nodes that it is to answer for."""
        self._environment = environment
        self._overlay = overlay
        self._post = post
        self._schema = schema
        self._parameters = parameters
        self.capacity = environment.random.randint(*parameters.capacity)
        """The number of subscriptions that a leaf here holds before it splits."""
        self.nodes: dict[Name, TreeNode] = {}
        self.placement = Placement(overlay, schema, environment.peer, parameters.replicas)
        self.copies = Copies(environment, self.placement, parameters, self.nodes, self.merge, settled)
        # An answer to an earlier session must not pass for one to this session.
        self._last_transfer = environment.session << 16
        post.serve(InsertSub, self._on_insert)
        post.handle(TransferSubAck, self._on_transfer_ack)
        post.handle(LeafUpdate, lambda _, update: self.on_leaf_update(update))

    def on_probe(self, probe: ProbeSub, hops: int) -> None:
        """Tell the subscriber which leaf it is looking for, or probe on (program 3.2, lines 55 to 70).

        `hops` is the number of hops that the probe has travelled in all.
        """
        found = self._locate((probe.attribute, probe.position), probe.low, probe.high, probe.known)
        if isinstance(found, TreeNode):
            ack = ProbeSubAck(found.position, probe.sid, probe.piece, hops + 1)
            self._post.send(probe.subscriber, ack)
            return
        onward = ProbeSub(
            probe.attribute,
            found,
            probe.low,
            probe.high,
            probe.subscriber,
            probe.sid,
            probe.piece,
            hops,
            known=found > probe.position,
        )
        self._route((probe.attribute, found), onward)

    def on_transfer(self, transfer: TransferSub, origin: int) -> None:
        """Take in subscriptions of a leaf that splits. The half that they are for need not exist yet."""
        name = transfer.attribute, transfer.position
        self._accept(
            self.nodes.get(name) or self._create(name), self._sound(TransferSub, transfer.subscriptions)
        )
        if transfer.number:
            self._post.send(origin, TransferSubAck(*name, transfer.number))

    def on_leaf_update(self, update: LeafUpdate) -> None:
        """Take in that nodes below this one are no longer leaves, and tell the parent, up to the root."""
        name = update.attribute, update.position
        node = self.nodes.get(name)
        if node is None:
            # The node must have been split, since its halves exist: all peers that held it have lost it.
            node = self._create(name)
            node.turn_inner()
            self.copies.tell(node)
        new = [split for split in update.splits if split not in node.table.splits]
        node.table.update(new)
        if node.inner and new:
            self._tell_parent(node, new)
        elif not node.inner and node.split and not node.transfer:
            self.copies.tell(node)
            self._transfer(node)

    def on_table_request(self, request: TableRequest, origin: int) -> None:
        """Tell the new home of an inner node next to this one of the leaves below that node."""
        node = self.nodes.get((request.attribute, request.position))
        if node is not None:
            splits = sorted(split for split in node.table.splits if is_below(split, request.below))
            self._post.send(origin, LeafUpdate(request.attribute, request.below, splits))

    def take_over(self) -> None:
        """Take over as the home of nodes whose home has gone.

        An inner node's new home asks the parent for its table (section 3.6); the root has no parent, so its
        home asks the halves. A leaf's new home continues the leaf's split.
        """
        for node in list(self.nodes.values()):
            if not node.split or not self.placement.is_home(node.name):
                continue
            position = node.position
            if not node.inner:
                if not node.transfer:
                    self._transfer(node)
            else:
                for other in (2, 3) if position == ROOT else (position // 2,):
                    name = node.attribute, other
                    self._route(name, TableRequest(*name, position))

    def merge(self, state: NodeState) -> None:
        """Merge what another peer holds of a node into what this peer has."""
        name = state.attribute, state.position
        node = self.nodes.get(name)
        if node is None:
            node = self._new(name)
        node.table.update(state.splits)
        left_over: Sequence[SubscriptionObject] = ()
        if node.inner:
            left_over = () if state.inner else self._sound(NodeUpdate, state.subscriptions)
        elif state.inner:
            left_over = [entry.message for entry in node.entries.values()]
            node.turn_inner()
        else:
            self._put(node, self._sound(NodeUpdate, state.subscriptions))
        if self.placement.is_home(name):
            if left_over:
                # The halves took over what another peer held, which may have lacked some of these.
                self._pass_down(node, left_over)
            elif node.split and not node.inner and not node.transfer:
                self._transfer(node)

    def withdraw(self, subscriber: int, sids: Iterable[int]) -> None:
        """Remove subscriptions that their subscriber says it does not have."""
        unwanted = set(sids)
        for node in self.nodes.values():
            found = [
                with_end(entry.message, entry.message.until, withdrawn=True)
                for entry in node.entries.values()
                if entry.message.subscriber == subscriber and entry.message.sid in unwanted
            ]
            if found:
                self._accept(node, found)

    def _on_insert(self, sender: int, insert: InsertSub) -> InsertSubAck | None:
        """Store, renew or withdraw a subscription, if this peer is the home of its leaf."""
        subscription = insert.subscription
        if subscription is None:
            self._environment.drop(InsertSub, "it lacks a part")
            return None
        if not self._sound(InsertSub, [subscription]):
            return None
        name = subscription.attributes[0], insert.position
        leaf = self.nodes.get(name)
        stored = leaf is not None and not leaf.inner and self.copies.settled and self.placement.is_home(name)
        if leaf is not None and stored:
            identity = subscription.subscriber, subscription.sid, subscription.piece
            is_new = identity not in leaf.entries and not subscription.withdrawn
            self._accept(leaf, [subscription])
            if is_new:
                self._environment.deliver(Installation(subscription.subscriber, insert.hops))
        elif leaf is not None and leaf.inner and subscription.withdrawn:
            # A subscriber that leaves does not look for the leaf again.
            self._pass_down(leaf, [subscription])
        return InsertSubAck(stored)

    def _locate(self, name: Name, x: float, y: float, known: bool) -> TreeNode | int:
        """Return the leaf here that covers the point, or the position at which to go on looking.

        A node that does not exist is too deep; half its level is the next guess (section 3.3). A node that
        does not exist although a table names it (`known`) was lost and begins anew; so does the root.
        """
        node = self.nodes.get(name)
        if node is None:
            if not known and name[1] != ROOT:
                return ancestor(name[1], level_of(name[1]) // 2)
            node = self._create(name)
        return node.table.leaf_of(x, y) if node.inner else node

    def _create(self, name: Name) -> TreeNode:
        node = self._new(name)
        self.copies.tell(node)
        return node

    def _new(self, name: Name) -> TreeNode:
        probed = RecentNumbers(self._environment, self._parameters.memory)
        node = self.nodes[name] = TreeNode(self._schema, name, probed)
        return node

    def _accept(self, node: TreeNode, subscriptions: Sequence[SubscriptionObject]) -> None:
        """Store subscriptions, or pass them on if the node is no leaf; split a leaf that has too many."""
        if node.inner:
            self._pass_down(node, subscriptions)
            return
        new = self._put(node, subscriptions)
        if not new:
            return
        self.copies.tell(node, new)
        if node.split:
            self._transfer(node)
        elif len(node.entries) > self.capacity and self._divisible(node):
            node.table.update([node.position])
            self.copies.tell(node)
            self._transfer(node)

    def _sound(
        self, kind: type[Message], subscriptions: Sequence[SubscriptionObject]
    ) -> list[SubscriptionObject]:
        """Return the subscriptions that came in a message of this class without the malformed ones, which are
        dropped."""
        sound = [each for each in subscriptions if is_sound(each, self._schema)]
        for _ in range(len(subscriptions) - len(sound)):
            self._environment.drop(kind, "a subscription does not fit the schema")
        return sound

    def _put(self, node: TreeNode, subscriptions: Iterable[SubscriptionObject]) -> list[Entry]:
        """Store subscriptions in a leaf. Returns the entries that are new or newer there."""
        now = self._environment.now
        entries = [node.put(subscription) for subscription in subscriptions if subscription.until > now]
        return [entry for entry in entries if entry is not None]

    def _divisible(self, leaf: TreeNode) -> bool:
        """Return whether a leaf can split: it is not at the deepest level, and its points are not all
        equal."""
        live = leaf.live()
        points = {(entry.low, entry.high) for entry in live}
        return len(live) > self.capacity and leaf.level < self._parameters.deepest_level and len(points) > 1

    def _transfer(self, leaf: TreeNode) -> None:
        """Send each half its part, even an empty one, so that the half exists (program 3.1).

        If the leaf changes while the halves are awaited, or if they do not answer, everything is sent again.
        """
        _, upper = halves(self._schema.attributes[leaf.attribute].area(leaf.position), leaf.level)
        parts: tuple[list[SubscriptionObject], list[SubscriptionObject]] = ([], [])
        for entry in leaf.entries.values():
            is_upper = (entry.low >= upper[0]) if leaf.level % 2 == 0 else (entry.high >= upper[2])
            parts[is_upper].append(entry.message)
        self._last_transfer += 1
        number = leaf.transfer = self._last_transfer
        lower = 2 * leaf.position
        leaf.awaited = {lower, lower + 1}
        self._environment.set_timer(self._parameters.retry, lambda: self._transfer_again(leaf, number))
        for half, part in enumerate(parts):
            name = leaf.attribute, lower + half
            self._route(name, TransferSub(*name, part, number))

    def _transfer_again(self, leaf: TreeNode, number: int) -> None:
        if leaf.transfer != number or self.nodes.get(leaf.name) is not leaf:
            return
        if self.placement.is_home(leaf.name):
            self._transfer(leaf)
        else:
            leaf.transfer = 0

    def _on_transfer_ack(self, sender: int, ack: TransferSubAck) -> None:
        leaf = self.nodes.get((ack.attribute, ack.position // 2))
        if leaf is None or leaf.inner or leaf.transfer != ack.number:
            return
        leaf.awaited.discard(ack.position)
        if not leaf.awaited:
            leaf.turn_inner()
            self.copies.tell(leaf)
            self._tell_parent(leaf, sorted(leaf.table.splits))

    def _pass_down(self, node: TreeNode, subscriptions: Iterable[SubscriptionObject]) -> None:
        """Send on subscriptions that are for leaves below an inner node."""
        below: dict[int, list[SubscriptionObject]] = {}
        for subscription in subscriptions:
            leaf = node.table.leaf_of(subscription.lows[0], subscription.highs[0])
            below.setdefault(leaf, []).append(subscription)
        for position, some in below.items():
            name = node.attribute, position
            self._route(name, TransferSub(*name, some))

    def _tell_parent(self, node: TreeNode, splits: Sequence[int]) -> None:
        if node.position != ROOT:
            parent = node.attribute, node.position // 2
            self._route(parent, LeafUpdate(*parent, list(splits)))

    def _route(self, name: Name, message: Message) -> None:
        self._overlay.route(self._schema.key(*name), message)
