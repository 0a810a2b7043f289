"""Toy systems for lookups and for content, for tests of both runtimes; hosts import this module too."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fleet_toys import Flood, FloodParameters
from google.protobuf.message import Message
from trellis.v1 import overlay_pb2, pubsub_pb2

from emulator.protocol import (
    Contact,
    Environment,
    Event,
    Handler,
    Installation,
    Interest,
    Lookup,
    LookupService,
    RangeInterest,
)
from emulator.registry import SYSTEMS, System


def matches(ranges: Mapping[str, tuple[float, float]], attributes: Mapping[str, float]) -> bool:
    """Whether each range has its attribute's value, ends included."""
    return all(low <= attributes.get(name, low - 1) <= high for name, (low, high) in ranges.items())


class ContentFlood(Flood):
    """Every peer passes every event on; subscriptions stay at their subscribers.

    An event carries its attributes in its payload.
    """

    def __init__(self, world: Environment, parameters: FloodParameters) -> None:
        super().__init__(world, parameters)
        self.ranges: list[Mapping[str, tuple[float, float]]] = []

    def subscribe(self, interest: Interest) -> None:
        assert isinstance(interest, RangeInterest)
        self.ranges.append(interest.ranges)
        self.world.deliver(Installation(self.world.self_contact.peer, 0))

    def unsubscribe(self, interest: Interest) -> None:
        assert isinstance(interest, RangeInterest)
        self.ranges.remove(interest.ranges)

    def publish(self, event: Event) -> None:
        self.seen.add(event.number)
        payload = json.dumps(dict(event.attributes)).encode()
        self.pass_on(pubsub_pb2.EventData(event=event.number, publisher=event.publisher, payload=payload))

    def on_event(self, sender: int, message: pubsub_pb2.EventData) -> None:
        if message.event not in self.seen:
            self.seen.add(message.event)
            attributes = json.loads(message.payload)
            if any(matches(ranges, attributes) for ranges in self.ranges):
                event = Event(message.event, message.publisher, attributes=attributes, hops=message.hops + 1)
                self.world.deliver(event)
            self.world.set_timer(0.001, lambda: self.pass_on(message))


class ModuloLookups(LookupService):
    """Key k belongs to peer k mod `peers`, as everybody knows; a peer asked for its own key knows at once."""

    peers = 3

    def __init__(self, world: Environment) -> None:
        self.world = world

    def handlers(self) -> dict[type[Message], Handler]:
        return {overlay_pb2.LookupRequest: self.on_request}

    def start(self, bootstrap: Sequence[Contact]) -> None: ...

    def stop(self, graceful: bool) -> None: ...

    def lookup(self, number: int, key: int) -> None:
        owner, here = key % self.peers, self.world.self_contact.peer
        if owner == here:
            self.world.deliver(Lookup(number, here, key, 0))
        else:
            self.world.send(owner, overlay_pb2.LookupRequest(number=number))

    def on_request(self, sender: int, message: overlay_pb2.LookupRequest) -> None:
        self.world.deliver(Lookup(message.number, sender, self.world.self_contact.peer, 1))

    def neighbours(self) -> dict[str, Sequence[int]]:
        return {}


class LateLookups(ModuloLookups):
    """Answers from a timer, half a second after the request came."""

    def on_request(self, sender: int, message: Any) -> None:
        self.world.set_timer(0.5, lambda: super(LateLookups, self).on_request(sender, message))


SYSTEMS["content-flood"] = System(
    "content-flood", "Flooding by content, for tests", "none", FloodParameters, ContentFlood, "content"
)
SYSTEMS["modulo"] = System(
    "modulo", "Lookups, for tests", "none", FloodParameters, lambda world, _: ModuloLookups(world), "lookups"
)
SYSTEMS["late-modulo"] = System(
    "late-modulo", "Late lookups, for tests", "none", FloodParameters, lambda w, _: LateLookups(w), "lookups"
)
