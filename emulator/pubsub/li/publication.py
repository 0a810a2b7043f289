"""Publishing: probing for leaves, matching there, and delivery (sections 3.4.1 to 3.4.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from google.protobuf.message import Message
from trellis.v1.content_pb2 import EventDelivery, ProbePub, ProbePubMulticast

from emulator.protocol import Environment, Event, Handler
from emulator.pubsub.li.content import Content, decode, encode
from emulator.pubsub.li.multicast import Probe, ProbeSender
from emulator.pubsub.li.node import Name
from emulator.pubsub.li.parameters import LiParameters
from emulator.pubsub.li.probing import region_probe
from emulator.pubsub.li.recent import Recent
from emulator.pubsub.li.space import ROOT, Schema, ancestor, level_of
from emulator.pubsub.li.tree import Tree
from emulator.pubsub.li.wire import Wire

_MOST_HOPS = 100
"""Ends what would go round for ever between peers that disagree."""


class Publication:
    """The events that pass through one peer."""

    def __init__(
        self,
        environment: Environment,
        wire: Wire,
        schema: Schema,
        parameters: LiParameters,
        tree: Tree,
        digit_bits: int,
        entrust: Callable[[Name, Message], bool],
    ) -> None:
        """`digit_bits` is the overlay's b; `entrust` gives a message for a node that is not here to a
        neighbour, if this peer is new."""
        self._environment = environment
        self._wire = wire
        self._schema = schema
        self._parameters = parameters
        self._tree = tree
        self._sender = ProbeSender(environment, wire, schema, digit_bits, parameters.retry, self._send_again)
        self._entrust = entrust
        self._absent_matches = parameters.absent == "match"
        self._probed = Recent(environment, parameters.memory)

    def handlers(self) -> dict[type[Message], Handler]:
        return {ProbePubMulticast: self._on_multicast, ProbePub: self._on_probe}

    def publish(self, event: Event) -> None:
        """Probe in the space of each attribute. Raises ValueError if the event does not fit the schema."""
        encoded = encode(event, self._schema)
        names = [
            (attribute, position)
            for attribute, target in enumerate(self.decode(encoded).targets)
            if target is not None
            for position in region_probe(target, self._parameters, self._environment.random)
        ]
        if self._parameters.probing == "unicast":
            self._handle(encoded, (), names, 0)
        else:
            self._handle(encoded, names, (), 0)

    def on_unreachable(self, peer: int) -> None:
        """What was sent there finds another way."""
        self._sender.on_unreachable(peer)

    def answer(self, message: ProbePub) -> None:
        """Probe a node here, be it this peer's or not (section 3.6)."""
        self._handle(message.event, (), [(message.attribute, message.position)], message.hops, own=True)

    def _on_multicast(self, sender: int, message: ProbePubMulticast) -> None:
        if message.hops <= _MOST_HOPS:
            self._handle(message.event, _names(message), (), message.hops, message.prefix)

    def _on_probe(self, sender: int, message: ProbePub) -> None:
        if message.hops > _MOST_HOPS:
            return
        name = message.attribute, message.position
        own = self._wire.is_home(self._schema.key(*name))
        if own or self._sender.unicast(message.event, [name], message.hops):
            self._handle(message.event, (), [name], message.hops, own=True)

    def _send_again(self, message: Probe) -> None:
        """It did not leave here."""
        hops = message.hops - 1
        if isinstance(message, ProbePub):
            self._handle(message.event, (), [(message.attribute, message.position)], hops)
        else:
            self._handle(message.event, _names(message), (), hops, message.prefix)

    def _handle(
        self,
        event: bytes,
        grouped: Sequence[Name],
        single: Sequence[Name],
        hops: int,
        prefix: int = 0,
        *,
        own: bool = False,
    ) -> None:
        """Probe the nodes that are this peer's, and send on what is for others.

        `grouped` nodes travel by multicast and share `prefix` digits, `single` ones by unicast. What this
        peer's nodes lead to travels as the parameter says.
        """
        is_home, key = self._wire.is_home, self._schema.key
        here = list(single) if own else [name for name in single if is_home(key(*name))]
        single = () if own else [name for name in single if not is_home(key(*name))]
        others: list[Name] = []
        for name in grouped:
            (here if is_home(key(*name)) else others).append(name)
        onward: dict[Name, None] = {}
        matched: dict[int, list[int]] = {}
        while True:
            while here:
                for name in self._probe(event, here.pop(), hops, matched):
                    if is_home(key(*name)):
                        here.append(name)
                    else:
                        onward[name] = None
            # A node on the border between two peers may turn out to be this one's after all.
            here += self._sender.multicast(event, others, prefix, hops) if others else ()
            here += self._sender.unicast(event, single, hops) if single else ()
            if onward and self._parameters.probing == "multicast-throughout":
                here += self._sender.multicast(event, list(onward), 0, hops)
            elif onward:
                here += self._sender.unicast(event, list(onward), hops)
            if not here:
                break
            others, single, onward = [], (), {}
        for subscriber, sids in matched.items():
            arrives = hops if subscriber == self._wire.peer else hops + 1
            self._wire.send(subscriber, EventDelivery(event=event, sids=sids, hops=arrives))

    def _probe(self, event: bytes, name: Name, hops: int, matched: dict[int, list[int]]) -> Iterable[Name]:
        """Match at a leaf; return the nodes that are to be probed instead of another (program 3.3)."""
        attribute, position = name
        node = self._tree.find(name)
        if node is None:
            probe = ProbePub(event=event, attribute=attribute, position=position, hops=hops + 1)
            if self._entrust(name, probe) or position == ROOT:
                return ()
            return ((attribute, ancestor(position, level_of(position) // 2)),)
        content = self.decode(event)
        target = content.targets[attribute]
        if target is None or not self._probed.add((content.number, attribute, position)):
            return ()
        for stored in content.matching(attribute, (node.subscriptions or {}).values()):
            matched.setdefault(stored.identity[0], []).append(stored.identity[1])
        if not node.table.splits:
            return ()
        return [(attribute, leaf) for leaf in node.table.leaves_overlapping(target)]

    def decode(self, event: bytes) -> Content:
        """What the encoded event says."""
        return decode(event, self._schema, self._parameters.cut_off, self._absent_matches)


def _names(message: ProbePubMulticast) -> list[Name]:
    return list(zip(message.attributes, message.positions, strict=True))
