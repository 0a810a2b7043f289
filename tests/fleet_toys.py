"""A toy system for tests of both runtimes; hosts find it by the entry points in `toys`."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from emulator.contract.identifiers import RING
from emulator.contract.protocol import Environment, Event, Interest, PubSub, TopicInterest
from emulator.contract.registry import SYSTEMS
from emulator.contract.system import System
from trellis.v1.overlay import Goodbye
from trellis.v1.pubsub import EventData

_TESTS = Path(__file__).parent
PATH = os.pathsep.join([str(_TESTS), str(_TESTS / "toys"), str(_TESTS.parent)])
"""The PYTHONPATH of hosts that are to find the systems of the tests, and this checkout."""

if limit := os.environ.get("TRELLIS_TOY_FILE_LIMIT"):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
if "TRELLIS_TOY_BROKEN" in os.environ:
    raise RuntimeError("this toy cannot be imported by intention")


class FloodParameters(BaseModel):
    model_config = ConfigDict(extra="forbid")

    period: float = 0.5
    block: float = 0.0
    """Seconds for which each round stops the world."""
    fail_at: float = 1e9
    """Trial time at which peer 0 raises an error."""


class Flood(PubSub):
    """Every peer passes every event on to all that it knows; knowing is mutual."""

    def __init__(self, environment: Environment, parameters: FloodParameters) -> None:
        super().__init__(environment)
        self.parameters = parameters
        self.known: set[int] = set()
        self.topics: set[int] = set()
        self.seen: set[int] = set()
        self.unreachable = 0
        environment.handle(Goodbye, self.on_hello)
        environment.handle(EventData, self.on_event)

    def start(self, contacts: Sequence[int]) -> None:
        self.environment.take_identifier(self.environment.identifier, RING)
        self.meet(contacts)
        self.environment.every(self.parameters.period, self.round)

    def stop(self, graceful: bool) -> None:
        pass

    def meet(self, contacts: Sequence[int]) -> None:
        for contact in contacts:
            self.known.add(contact)
            self.environment.send(contact, Goodbye())

    def round(self) -> None:
        environment = self.environment
        if self.parameters.block:
            time.sleep(self.parameters.block)
        if environment.now > self.parameters.fail_at and environment.peer == 0:
            raise RuntimeError("this toy breaks by intention")
        if self.known:
            environment.send(environment.random.choice(sorted(self.known)), Goodbye())
        else:
            environment.find_contacts(self.meet)

    def on_hello(self, sender: int, message: Goodbye) -> None:
        self.known.add(sender)

    def on_event(self, sender: int, message: EventData) -> None:
        if message.event not in self.seen:
            self.seen.add(message.event)
            if message.topic in self.topics:
                event = Event(message.event, message.publisher, message.topic, hops=message.hops)
                self.environment.deliver(event)
            self.environment.set_timer(0.001, lambda: self.pass_on(message))

    def pass_on(self, message: EventData) -> None:
        onward = EventData(message.event, message.topic, message.publisher, message.hops + 1, message.payload)
        for peer in self.known:
            self.environment.send(peer, onward)

    def publish(self, event: Event) -> None:
        self.seen.add(event.number)
        self.pass_on(EventData(event.number, event.topic or 0, event.publisher, 0, event.payload))

    def subscribe(self, interest: Interest) -> None:
        assert isinstance(interest, TopicInterest)
        self.topics.add(interest.topic)

    def unsubscribe(self, interest: Interest) -> None:
        assert isinstance(interest, TopicInterest)
        self.topics.discard(interest.topic)

    def on_unreachable(self, peer: int) -> None:
        self.known.discard(peer)
        self.unreachable += 1

    def gauges(self) -> dict[str, float]:
        return {"unreachable": self.unreachable}

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return {"known": sorted(self.known)}


FLOOD = System("flood", "Flooding, for tests", "none", FloodParameters, Flood)
SYSTEMS["flood"] = FLOOD
