"""Publishing: probing for leaves and matching there (sections 3.4.1 and 3.4.2).

The overlay routes probes. Each peer on the way takes a multicast probe out of the routing and sends it on in
as many parts as its nodes' identifiers have different next digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from emulator.contract.protocol import Environment, Event, Message, Overlay
from emulator.protocols.pubsub.li.content import Content, encode, is_sound, lay_out
from emulator.protocols.pubsub.li.delivery import Deliveries
from emulator.protocols.pubsub.li.node import Name
from emulator.protocols.pubsub.li.parameters import LiParameters
from emulator.protocols.pubsub.li.probing import region_probe
from emulator.protocols.pubsub.li.space import ROOT, Schema, ancestor, level_of
from emulator.protocols.pubsub.li.tree import Tree
from trellis.v1.content import EventContent, ProbePub, ProbePubMulticast

_MOST_HOPS: Final = 100
"""A probe ends after this many hops, for peers that disagree might pass it round for ever."""


class Publication:
    """The events that pass through one peer."""

    def __init__(
        self,
        environment: Environment,
        overlay: Overlay,
        schema: Schema,
        parameters: LiParameters,
        tree: Tree,
        deliveries: Deliveries,
    ) -> None:
        self._environment = environment
        self._overlay = overlay
        self._schema = schema
        self._parameters = parameters
        self._tree = tree
        self._deliveries = deliveries
        self._absent_matches = parameters.absent == "match"
        self.searches = 0
        """The number of events that were looked up in the subscriptions of a leaf."""
        self.compared = 0
        """The number of subscriptions that events were compared with there."""

    def publish(self, event: Event) -> None:
        """Probe in the space of each attribute. Raises ValueError if the event does not fit the schema."""
        message = encode(event, self._schema)
        names = [
            (attribute, position)
            for attribute, target in enumerate(self.lay_out(message).targets)
            if target is not None
            for position in region_probe(target, self._parameters, self._environment.random)
        ]
        own = [name for name in names if self._is_home(name)]
        others = [name for name in names if not self._is_home(name)]
        if self._parameters.probing == "unicast":
            self._send_each(message, others, 0)
        else:
            self._send_groups(message, others, 0, 0)
        self._answer(message, own, 0)

    def regroup(self, probe: ProbePubMulticast, hops: int, key: int | None = None) -> None:
        """Answer for the nodes that are at home here, and send on what is for others (program 3.4).

        `hops` is what the event has travelled. The node of `key` was routed here and is answered for in any
        case.
        """
        content = self.sound(ProbePubMulticast, probe.content)
        if content is None:
            return
        if len(probe.attributes) != len(probe.positions):
            self._environment.drop(ProbePubMulticast, "its lists do not fit together")
            return
        own: list[Name] = []
        others: list[Name] = []
        for name in zip(probe.attributes, probe.positions, strict=True):
            is_own = self._schema.key(*name) == key or self._is_home(name)
            (own if is_own else others).append(name)
        if hops < _MOST_HOPS:
            self._send_groups(content, others, probe.prefix, hops)
        elif others:
            self._environment.drop(ProbePubMulticast, "it went too many hops")
        self._answer(content, own, hops)

    def answer(self, probe: ProbePub, hops: int) -> None:
        """Answer for the node that is probed."""
        content = self.sound(ProbePub, probe.content)
        if content is not None:
            self._answer(content, [(probe.attribute, probe.position)], hops)

    def sound(self, kind: type[Message], message: EventContent | None) -> EventContent | None:
        """Return the content that came in a message of this class; None, and drop it, if it is malformed."""
        if message is not None and is_sound(message, self._schema):
            return message
        self._environment.drop(kind, "its content does not fit the schema")
        return None

    def lay_out(self, message: EventContent) -> Content:
        """Return the event in a message, laid out for probing and matching."""
        return lay_out(message, self._schema, self._parameters.cut_off, self._absent_matches)

    def _is_home(self, name: Name) -> bool:
        return self._overlay.next_hop(self._schema.key(*name)) is None

    def _answer(self, message: EventContent, names: list[Name], hops: int) -> None:
        """Match at nodes here, and probe the nodes that they lead to."""
        if not names:
            return
        if not self._tree.copies.settled:
            self._tree.copies.hold(lambda: self._answer_now(message, names, hops))
        else:
            self._answer_now(message, names, hops)

    def _answer_now(self, message: EventContent, names: list[Name], hops: int) -> None:
        waiting = list(names)
        onward: dict[Name, None] = {}
        matched: dict[int, list[int]] = {}
        content = self.lay_out(message)
        while waiting:
            for name in self._probe(content, waiting.pop(), matched):
                if self._is_home(name):
                    waiting.append(name)
                else:
                    onward[name] = None
        if self._parameters.probing == "multicast-throughout":
            self._send_groups(message, list(onward), 0, hops)
        elif hops < _MOST_HOPS:
            self._send_each(message, onward, hops)
        elif onward:
            self._environment.drop(ProbePub, "it went too many hops")
        for subscriber, sids in matched.items():
            self._deliveries.deliver(subscriber, message, sids, hops)

    def _probe(self, content: Content, name: Name, matched: dict[int, list[int]]) -> Iterable[Name]:
        """Match at a node here; return the nodes that are to be probed after it or instead (program 3.3)."""
        attribute, position = name
        node = self._tree.nodes.get(name)
        if node is None:
            if position == ROOT:
                return ()
            return ((attribute, ancestor(position, level_of(position) // 2)),)
        target = content.targets[attribute]
        if target is None or not node.probed.add(content.message.event):
            return ()
        if not node.inner:
            self.searches += 1
            self.compared += len(node.entries)
        for entry in content.matching(attribute, node.entries.values()):
            matched.setdefault(entry.message.subscriber, []).append(entry.message.sid)
        if not node.split:
            return ()
        return [(attribute, leaf) for leaf in node.table.leaves_overlapping(target)]

    def _send_each(self, message: EventContent, names: Iterable[Name], hops: int) -> None:
        for name in names:
            self._overlay.route(self._schema.key(*name), ProbePub(message, *name, hops))

    def _send_groups(self, message: EventContent, names: Sequence[Name], prefix: int, hops: int) -> None:
        """Route a message for each group of nodes whose identifiers share one digit more than `prefix`.

        Each message goes towards a random node of its group.
        """
        bits = self._overlay.digit_bits
        shift = max(0, self._overlay.space.bits - bits * (prefix + 1))
        mask = (1 << bits) - 1
        groups: dict[int, list[Name]] = {}
        for name in names:
            groups.setdefault(self._schema.key(*name) >> shift & mask, []).append(name)
        for group in groups.values():
            towards = self._environment.random.choice(group) if len(group) > 1 else group[0]
            probe = ProbePubMulticast(
                message,
                [attribute for attribute, _ in group],
                [position for _, position in group],
                prefix + 1,
                hops,
            )
            self._overlay.route(self._schema.key(*towards), probe)
