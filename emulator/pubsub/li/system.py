"""Li's system at one peer: its parts, and who gets which message."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from google.protobuf.message import Message
from trellis.v1.content_pb2 import (
    Entrusted,
    EventDelivery,
    InsertSub,
    LeafUpdate,
    NodeState,
    ProbePub,
    ProbeSub,
    RemoveSub,
    TableRequest,
    TransferSub,
    Unwanted,
)

from emulator.messages import message_class
from emulator.protocol import Contact, Environment, Event, Handler, Interest, Overlay, PubSub, RangeInterest
from emulator.pubsub.li.hand_over import HandOvers
from emulator.pubsub.li.installation import Subscriptions
from emulator.pubsub.li.node import Name
from emulator.pubsub.li.parameters import LiParameters
from emulator.pubsub.li.publication import Publication
from emulator.pubsub.li.recent import Recent
from emulator.pubsub.li.replication import Replication
from emulator.pubsub.li.space import Schema
from emulator.pubsub.li.storing import Storing
from emulator.pubsub.li.tree import Tree
from emulator.pubsub.li.wire import Wire

_ROUTED = (ProbeSub, InsertSub, RemoveSub, TransferSub, LeafUpdate, TableRequest)
"""What is routed to a tree node's identifier."""

_PATIENCE = 20
"""How often a publication waits for the overlay."""


class Li(PubSub):
    """One peer."""

    def __init__(
        self,
        environment: Environment,
        parameters: LiParameters,
        overlay: Overlay,
        *,
        digit_bits: int,
        is_ready: Callable[[], bool],
    ) -> None:
        """`overlay` has identifiers of digits of `digit_bits` bits; `is_ready` tells when it has joined."""
        self._environment = environment
        self._parameters = parameters
        self._overlay = overlay
        self._is_ready = is_ready
        self.schema = Schema.of(parameters.attributes)
        self._wire = Wire(environment, overlay)
        self.tree = Tree(environment, self._wire, self.schema, parameters, self._give_up_copy)
        self.replication = Replication(self._wire, overlay, self.tree.nodes, parameters.replicas)
        self.tree.witness = self.replication
        self._subscriptions = Subscriptions(environment, self._wire, self.schema, parameters)
        self._storing = Storing(environment, self._wire, self.schema, self.tree, parameters.retry)
        self._hand_overs = HandOvers(
            environment,
            self._wire,
            self.schema,
            parameters,
            self.tree,
            self.replication,
            became_ready=self._subscriptions.begin,
        )
        self._publication = Publication(
            environment,
            self._wire,
            self.schema,
            parameters,
            self.tree,
            digit_bits,
            entrust=lambda name, probe: self._hand_overs.entrust(name, probe, self._wire.peer, 0),
        )
        self._delivered = Recent(environment, parameters.memory)
        self._wire.handlers = {
            **self.tree.handlers(),
            **self.replication.handlers(),
            **self._subscriptions.handlers(),
            **self._storing.handlers(),
            **self._hand_overs.handlers(),
            **self._publication.handlers(),
            EventDelivery: self._on_delivery,
            Entrusted: self._on_entrusted,
        }
        overlay.application = self

    def handlers(self) -> dict[type[Message], Handler]:
        return {**self._overlay.handlers(), **self._wire.handlers}

    def start(self, bootstrap: Sequence[Contact]) -> None:
        self._subscriptions.start()
        self._overlay.start(bootstrap)
        self._await_overlay()

    def stop(self, graceful: bool) -> None:
        if graceful:
            self._subscriptions.leave()
            self._hand_overs.leave()
        self._overlay.stop(graceful)

    def on_unreachable(self, peer: int) -> None:
        self._overlay.on_unreachable(peer)
        self._storing.on_unreachable(peer)
        self._hand_overs.on_unreachable(peer)
        self._publication.on_unreachable(peer)

    def subscribe(self, interest: Interest) -> None:
        """Raises ValueError for an interest in no attribute or in one that the schema does not have."""
        self._subscriptions.add(_ranges(interest))

    def unsubscribe(self, interest: Interest) -> None:
        self._subscriptions.take_back(_ranges(interest))

    def publish(self, event: Event) -> None:
        if event.topic is not None:
            raise TypeError("this system matches events by their attributes; the event has a topic")
        self._publish(event, _PATIENCE)

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return self._overlay.neighbours()

    def gauges(self) -> dict[str, float]:
        nodes = self.tree.nodes.values()
        leaves = [node for node in nodes if node.subscriptions is not None]
        return self._overlay.gauges() | {
            "tree_leaves": float(len(leaves)),
            "tree_inner_nodes": float(len(nodes) - len(leaves)),
            "tree_depth": float(max((node.level for node in nodes), default=0)),
            "stored_subscriptions": float(sum(len(leaf.subscriptions or ()) for leaf in leaves)),
            "node_copies": float(len(self.replication.copies)),
            "pending_subscriptions": float(self._subscriptions.pending),
        }

    def forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        """Everything goes on: what is regrouped on its way is not routed in the overlay's envelope."""
        return True

    def deliver(self, key: int, message: Message, origin: int, hops: int) -> None:
        assert isinstance(message, _ROUTED)
        if not self._hand_overs.entrust(_name(message), message, origin, hops):
            self._accept(message, origin, hops)
            if not self._wire.is_home(key):
                # The overlay took a closer peer for silent; what is here now may be its own.
                self._hand_overs.later()

    def update(self, peer: int, joined: bool) -> None:
        self._hand_overs.update(peer, joined)

    def _await_overlay(self) -> None:
        if self._is_ready():
            self._hand_overs.begin()
        else:
            self._environment.set_timer(self._parameters.settling, self._await_overlay)

    def _publish(self, event: Event, patience: int) -> None:
        if self._is_ready() or not patience:
            self._publication.publish(event)
        else:
            self._environment.set_timer(self._parameters.settling, lambda: self._publish(event, patience - 1))

    def _give_up_copy(self, name: Name) -> NodeState | None:
        return self.replication.give_up(name)

    def _accept(self, message: Message, origin: int, hops: int) -> None:
        """As the home of the tree node that the message is for."""
        match message:
            case ProbeSub():
                self._storing.on_probe(message, message.hops + hops)
            case InsertSub():
                self._storing.on_insert(message, message.hops + hops)
            case RemoveSub():
                self._storing.on_remove(message)
            case TransferSub():
                self.tree.on_transfer(message, origin)
            case LeafUpdate():
                self.tree.on_leaf_update(message)
            case TableRequest():
                self.tree.on_table_request(message, origin)
            case ProbePub():
                self._publication.answer(message)

    def _on_entrusted(self, sender: int, entrusted: Entrusted) -> None:
        message = message_class(entrusted.type).FromString(entrusted.payload)
        assert isinstance(message, (*_ROUTED, ProbePub))
        taker = self._hand_overs.taker(_name(message))
        if taker is not None and taker in self._wire.neighbours():
            self._wire.send(taker, entrusted)
        else:
            self._hand_overs.answer(lambda: self._accept(message, entrusted.origin, entrusted.hops))
            self._hand_overs.later()

    def _on_delivery(self, sender: int, delivery: EventDelivery) -> None:
        """What was widened is filtered here, and what was delivered before."""
        sids = delivery.sids
        unwanted = self._subscriptions.not_held(sids)
        if unwanted:
            self._wire.send(sender, Unwanted(sids=unwanted))
        content = self._publication.decode(delivery.event)
        if self._subscriptions.matching(sids, content.attributes) and self._delivered.add(content.number):
            self._environment.deliver(content.event(delivery.hops))


def _name(message: Message) -> Name:
    """The tree node that a message is for."""
    if isinstance(message, InsertSub):
        return message.subscription.attributes[0], message.position
    assert isinstance(message, (ProbeSub, RemoveSub, TransferSub, LeafUpdate, TableRequest, ProbePub))
    return message.attribute, message.position


def _ranges(interest: Interest) -> RangeInterest:
    if not isinstance(interest, RangeInterest):
        raise TypeError(f"this system knows ranges over attributes, not {type(interest).__name__}")
    return interest
