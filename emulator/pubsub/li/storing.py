"""Where subscriptions are stored: what the subscribers' messages do at tree nodes (section 3.3)."""

from __future__ import annotations

from collections.abc import Callable

from google.protobuf.message import Message
from trellis.v1.content_pb2 import (
    InsertSub,
    InsertSubAck,
    ProbeSub,
    ProbeSubAck,
    RemoveSub,
    RemoveSubAck,
    Unwanted,
)

from emulator.protocol import Environment, Handler, Installation
from emulator.pubsub.li.node import Identity, Stored
from emulator.pubsub.li.space import Schema
from emulator.pubsub.li.tree import Tree
from emulator.pubsub.li.wire import Wire


class Storing:
    """ProbeSub, InsertSub and RemoveSub, on their way to the leaf and there."""

    def __init__(
        self, environment: Environment, wire: Wire, schema: Schema, tree: Tree, forget_after: float
    ) -> None:
        """A subscriber that is out of reach for `forget_after` seconds is gone."""
        self._environment = environment
        self._wire = wire
        self._schema = schema
        self._tree = tree
        self._forget_after = forget_after
        self._out_of_reach: dict[int, float] = {}
        """Subscribers to which a delivery failed, and when first."""

    def handlers(self) -> dict[type[Message], Handler]:
        return {InsertSub: self._on_insert, RemoveSub: self._on_remove, Unwanted: self._on_unwanted}

    def on_probe(self, probe: ProbeSub, hops: int) -> None:
        """Program 3.2, lines 55 to 70; `hops` is what the probe travelled in all."""
        name = probe.attribute, probe.position
        found = self._tree.locate(name, probe.low, probe.high, probe.known)
        if not isinstance(found, int):
            ack = ProbeSubAck(position=found.position, sid=probe.sid, piece=probe.piece, hops=hops + 1)
            self._wire.send(probe.subscriber, ack)
            return
        onward = ProbeSub()
        onward.CopyFrom(probe)
        onward.position = found
        onward.hops = hops
        onward.known = found > probe.position
        self._wire.route(self._schema.key(probe.attribute, found), onward)

    def on_insert(self, insert: InsertSub, hops: int) -> None:
        """To the leaf if this is none any more; there the subscription is stored, and in force."""
        stored = Stored(insert.subscription)
        attribute = insert.subscription.attributes[0]
        found = self._tree.locate((attribute, insert.position), stored.low, stored.high, insert.known)
        subscriber, sid, piece = stored.identity
        if isinstance(found, int):
            onward = InsertSub(
                position=found,
                subscription=insert.subscription,
                hops=hops,
                known=found > insert.position,
            )
            self._wire.route(self._schema.key(attribute, found), onward)
            return
        self._out_of_reach.pop(subscriber, None)
        if self._tree.store(found, [stored]):
            self._environment.deliver(Installation(subscriber, hops))
        self._wire.send(subscriber, InsertSubAck(sid=sid, piece=piece))

    def on_remove(self, remove: RemoveSub) -> None:
        """To the leaf; there the subscription is taken out (section 3.3.1)."""
        found = self._tree.locate((remove.attribute, remove.position), remove.low, remove.high, False)
        identity = remove.subscriber, remove.sid, remove.piece
        if isinstance(found, int):
            onward = RemoveSub()
            onward.CopyFrom(remove)
            onward.position = found
            self._wire.route(self._schema.key(remove.attribute, found), onward)
            return
        if found.transfers:
            return  # a half has it, or will: the subscriber asks again
        self._tree.remove(found, identity)
        self._wire.send(remove.subscriber, RemoveSubAck(sid=remove.sid, piece=remove.piece))

    def on_unreachable(self, subscriber: int) -> None:
        """Forget the subscriptions of a peer that stays out of reach."""
        since = self._out_of_reach.setdefault(subscriber, self._environment.now)
        if self._environment.now - since < self._forget_after:
            return
        del self._out_of_reach[subscriber]
        self._forget(lambda identity: identity[0] == subscriber)

    def _on_insert(self, sender: int, message: InsertSub) -> None:
        if not self._sent_home(message.subscription.attributes[0], message.position, message):
            self.on_insert(message, message.hops)

    def _on_remove(self, sender: int, message: RemoveSub) -> None:
        if not self._sent_home(message.attribute, message.position, message):
            self.on_remove(message)

    def _sent_home(self, attribute: int, position: int, message: Message) -> bool:
        """Whether the leaf was given away after the subscriber was told that it is here.

        The copy that is kept of it here is not to be taken for the leaf.
        """
        key = self._schema.key(attribute, position)
        if (attribute, position) in self._tree.nodes or self._wire.is_home(key):
            return False
        self._wire.route(key, message)
        return True

    def _on_unwanted(self, sender: int, message: Unwanted) -> None:
        """An event was delivered for subscriptions that the subscriber does not hold."""
        sids = set(message.sids)
        self._forget(lambda identity: identity[0] == sender and identity[1] in sids)

    def _forget(self, unwanted: Callable[[Identity], bool]) -> None:
        for node in self._tree.nodes.values():
            if not node.transfers:
                for identity in [identity for identity in node.subscriptions or () if unwanted(identity)]:
                    self._tree.remove(node, identity)
