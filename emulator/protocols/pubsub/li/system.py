"""Li's system at one peer: its parts, and which part gets which message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from emulator.contract.protocol import (
    Contact,
    Environment,
    Event,
    Interest,
    Message,
    Overlay,
    PubSub,
    RangeInterest,
)
from emulator.contract.recent import RecentNumbers
from emulator.contract.system import OverlayKind, System
from emulator.protocols.overlays.pastry.overlay import PASTRY
from emulator.protocols.pubsub.li.delivery import Deliveries
from emulator.protocols.pubsub.li.direct_messages import Post
from emulator.protocols.pubsub.li.parameters import LiParameters, over
from emulator.protocols.pubsub.li.publication import Publication
from emulator.protocols.pubsub.li.space import Schema
from emulator.protocols.pubsub.li.subscriber import Subscriber
from emulator.protocols.pubsub.li.tree import Tree
from trellis.v1.content import (
    EventDelivery,
    EventDeliveryAck,
    LeafUpdate,
    ProbePub,
    ProbePubMulticast,
    ProbeSub,
    TableRequest,
    TransferSub,
)

_PATIENCE: Final = 20
"""A publication waits this many times for the overlay."""


class Li(PubSub):
    """One peer of Li's system."""

    def __init__(self, environment: Environment, parameters: LiParameters, overlay: Overlay) -> None:
        """Raises ValueError if the identifiers of `overlay` have no digits."""
        super().__init__(environment)
        if not overlay.digit_bits:
            raise ValueError("Li's multicast needs an overlay that routes by digits of identifiers")
        self._parameters = parameters
        self.overlay = overlay
        self.schema = schema = Schema.of(parameters.attributes)
        post = Post(environment)
        self.subscriber = Subscriber(environment, overlay, post, schema, parameters)
        self.tree = Tree(environment, overlay, post, schema, parameters, self.subscriber.begin)
        deliveries = Deliveries(environment, post, parameters, self.tree.withdraw)
        self._publication = Publication(environment, overlay, schema, parameters, self.tree, deliveries)
        self._delivered = RecentNumbers(environment, parameters.memory)
        self._departed = False
        self._joined: dict[int, None] = {}
        self._comparing = False
        post.serve(EventDelivery, self._on_delivery)
        overlay.carry(self, ProbeSub, TransferSub, LeafUpdate, TableRequest, ProbePub, ProbePubMulticast)

    def start(self, contacts: Sequence[int]) -> None:
        self.subscriber.start()
        self.overlay.start(contacts)
        self._await_overlay()

    def stop(self, graceful: bool) -> None:
        if graceful:
            self.subscriber.leave()
            self.tree.copies.leave()
        self.overlay.stop(graceful)

    def subscribe(self, interest: Interest) -> None:
        """Raises ValueError for an interest in no attribute or in one that the schema does not have."""
        self.subscriber.add(_ranges(interest))

    def unsubscribe(self, interest: Interest) -> None:
        self.subscriber.take_back(_ranges(interest))

    def publish(self, event: Event) -> None:
        if event.topic is not None:
            raise TypeError("this system matches events by their attributes; the event has a topic")
        self._publish(event, _PATIENCE)

    def gauges(self) -> dict[str, float]:
        nodes = self.tree.nodes
        home = [node for name, node in nodes.items() if self.tree.placement.is_home(name)]
        leaves = [node for node in home if not node.inner]
        me = self.environment.peer
        others = [e for node in nodes.values() for e in node.live() if e.message.subscriber != me]
        return {
            "table_entries": float(len(others)),
            "table_searches": float(self._publication.searches),
            "table_comparisons": float(self._publication.compared),
            "tree_leaves": float(len(leaves)),
            "tree_inner_nodes": float(len(home) - len(leaves)),
            "tree_depth": float(max((node.level for node in home), default=0)),
            "stored_subscriptions": float(sum(len(leaf.live()) for leaf in leaves)),
            "node_copies": float(len(nodes) - len(home)),
            "pending_subscriptions": float(self.subscriber.pending),
        }

    def forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        """Take a multicast probe for several nodes out of the routing, to send it on in parts."""
        if hops and isinstance(message, ProbePubMulticast) and len(message.positions) > 1:
            self._publication.regroup(message, message.hops + hops)
            return False
        return True

    def deliver(self, key: int, message: Message, origin: Contact, hops: int) -> None:
        if isinstance(message, ProbePubMulticast):
            self._publication.regroup(message, message.hops + hops, key)
        elif isinstance(message, ProbePub):
            self._publication.answer(message, message.hops + hops)
        elif self.tree.copies.settled:
            self._accept(message, origin.peer, hops)
        else:
            self.tree.copies.hold(lambda: self._accept(message, origin.peer, hops))

    def neighbour_changed(self, contact: Contact, joined: bool) -> None:
        self.tree.placement.neighbour_changed()
        if joined:
            self._joined[contact.peer] = None
        else:
            self._joined.pop(contact.peer, None)
            self._departed = True
        if not self._comparing:
            self._comparing = True
            self.environment.set_timer(self._parameters.settling, self._compare)

    def _compare(self) -> None:
        """Compare copies: a newcomer may lack nodes, and after a departure the next peer may."""
        if not self.tree.copies.settled:
            self.environment.set_timer(self._parameters.settling, self._compare)
            return
        self._comparing = False
        joined, self._joined = self._joined, {}
        departed, self._departed = self._departed, False
        if departed:
            self.tree.copies.compare_with_all()
            self.tree.take_over()
        else:
            self.tree.copies.compare_with(joined)

    def _await_overlay(self) -> None:
        if self.overlay.ready:
            # This peer is about to compare with all neighbours; only later changes are news.
            self._joined, self._departed = {}, False
            self.tree.copies.begin()
        else:
            self.environment.set_timer(self._parameters.settling, self._await_overlay)

    def _publish(self, event: Event, patience: int) -> None:
        if self.overlay.ready or not patience:
            self._publication.publish(event)
        else:
            self.environment.set_timer(self._parameters.settling, lambda: self._publish(event, patience - 1))

    def _accept(self, message: Message, origin: int, hops: int) -> None:
        """Handle a message as the home of the tree node that it is for."""
        if isinstance(message, ProbeSub):
            self.tree.on_probe(message, message.hops + hops)
        elif isinstance(message, TransferSub):
            self.tree.on_transfer(message, origin)
        elif isinstance(message, LeafUpdate):
            self.tree.on_leaf_update(message)
        elif isinstance(message, TableRequest):
            self.tree.on_table_request(message, origin)

    def _on_delivery(self, sender: int, delivery: EventDelivery) -> EventDeliveryAck:
        """Deliver an event, unless only a widened range matched or the event came before."""
        message = self._publication.sound(EventDelivery, delivery.content)
        if message is not None:
            content = self._publication.lay_out(message)
            matches = self.subscriber.matching(delivery.sids, content.attributes)
            if matches and self._delivered.add(content.message.event):
                self.environment.deliver(content.event(delivery.hops))
        return EventDeliveryAck(self.subscriber.not_held(delivery.sids))


def _ranges(interest: Interest) -> RangeInterest:
    if not isinstance(interest, RangeInterest):
        raise TypeError(f"this system knows ranges over attributes, not {type(interest).__name__}")
    if interest.sets:
        raise ValueError(f"this system knows ranges of values, not sets, as of {', '.join(interest.sets)}")
    return interest


def li_over(kind: OverlayKind) -> System:
    """Return Li's system on this kind of overlay."""

    def create(environment: Environment, parameters: LiParameters) -> Li:
        return Li(environment, parameters, kind.create(environment.channel("overlay"), parameters.overlay))

    return System(
        name="li",
        title=f"Li's distributed 2d-tree over {kind.title}",
        paper="W. Li: A content-based publish/subscribe framework over structured P2P networks, UBC, 2008",
        parameters=over(kind.parameters),
        create=create,
        serves="content",
        schema=lambda parameters: parameters.attributes,
        takes_identifiers=True,
        invariants=kind.invariants,
    )


LI: Final = li_over(PASTRY)
