"""Toy systems for lookups and for content, for tests of both runtimes; hosts find them as `fleet_toys`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from fleet_toys import Flood, FloodParameters

from emulator.contract.protocol import (
    Environment,
    Event,
    Installation,
    Interest,
    Lookup,
    LookupService,
    RangeInterest,
)
from emulator.contract.registry import SYSTEMS
from emulator.contract.system import System
from trellis.v1.overlay import LookupRequest
from trellis.v1.pubsub import EventData


def matches(ranges: Mapping[str, tuple[float, float]], attributes: Mapping[str, float]) -> bool:
    """Return whether each range has its attribute's value, ends included."""
    return all(low <= attributes.get(name, low - 1) <= high for name, (low, high) in ranges.items())


class ContentFlood(Flood):
    """Every peer passes every event on; subscriptions stay at their subscribers.

    An event carries its attributes in its payload.
    """

    def __init__(self, environment: Environment, parameters: FloodParameters) -> None:
        super().__init__(environment, parameters)
        self.ranges: list[Mapping[str, tuple[float, float]]] = []

    def subscribe(self, interest: Interest) -> None:
        assert isinstance(interest, RangeInterest)
        self.ranges.append(interest.ranges)
        self.environment.deliver(Installation(self.environment.peer, 0))

    def unsubscribe(self, interest: Interest) -> None:
        assert isinstance(interest, RangeInterest)
        self.ranges.remove(interest.ranges)

    def publish(self, event: Event) -> None:
        self.seen.add(event.number)
        payload = json.dumps(dict(event.attributes)).encode()
        self.pass_on(EventData(event=event.number, publisher=event.publisher, payload=payload))

    def on_event(self, sender: int, message: EventData) -> None:
        if message.event not in self.seen:
            self.seen.add(message.event)
            attributes = json.loads(message.payload)
            if any(matches(ranges, attributes) for ranges in self.ranges):
                event = Event(message.event, message.publisher, attributes=attributes, hops=message.hops + 1)
                self.environment.deliver(event)
            self.environment.set_timer(0.001, lambda: self.pass_on(message))


class ModuloLookups(LookupService):
    """Key k belongs to peer k mod `peers`, as everybody knows; a peer asked for its own key knows at once."""

    peers = 3

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        environment.handle(LookupRequest, self.on_request)

    def start(self, contacts: Sequence[int]) -> None: ...

    def stop(self, graceful: bool) -> None: ...

    def lookup(self, number: int, key: int) -> None:
        owner, here = key % self.peers, self.environment.peer
        if owner == here:
            self.environment.deliver(Lookup(number, here, key, 0))
        else:
            self.environment.send(owner, LookupRequest(number=number))

    def on_request(self, sender: int, message: LookupRequest) -> None:
        self.environment.deliver(Lookup(message.number, sender, self.environment.peer, 1))


class LateLookups(ModuloLookups):
    """Answers from a timer, half a second after the request came."""

    def on_request(self, sender: int, message: LookupRequest) -> None:
        self.environment.set_timer(0.5, lambda: super(LateLookups, self).on_request(sender, message))


CONTENT_FLOOD = System(
    "content-flood", "Flooding by content, for tests", "none", FloodParameters, ContentFlood, "content"
)
MODULO = System(
    "modulo", "Lookups, for tests", "none", FloodParameters, lambda e, _: ModuloLookups(e), "lookups"
)
LATE_MODULO = System(
    "late-modulo", "Late lookups, for tests", "none", FloodParameters, lambda e, _: LateLookups(e), "lookups"
)
for system in (CONTENT_FLOOD, MODULO, LATE_MODULO):
    SYSTEMS[system.name] = system
