"""A toy that says all that a component can say of itself, and answers late; for both runtimes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from emulator.contract.protocol import (
    Component,
    Environment,
    Event,
    Gauge,
    Interest,
    Message,
    PubSub,
    TopicInterest,
)
from emulator.contract.registry import SYSTEMS
from emulator.contract.system import System
from trellis.v1.overlay import Goodbye, LookupRequest
from trellis.v1.pubsub import EventData

BLOCK, IDLE = "block complete", "idle"
LATE = 0.05
"""Seconds from a request to its reply."""


class TalkingParameters(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Watch(Component):
    """A part that says how full it is, and once that it does not know."""

    GAUGES: ClassVar[Mapping[str, Gauge]] = {
        "fill": Gauge("How full the watch is.", "share", "higher", sampled=True),
        "age": Gauge("How old it is.", "s", sampled=True),
    }

    def start(self, contacts: Sequence[int]) -> None:
        self.environment.record(IDLE, math.nan)

    def stop(self, graceful: bool) -> None:
        pass

    def gauges(self) -> dict[str, float]:
        number = self.environment.peer
        return {"fill": math.nan if number == 0 else number / 4, "age": self.environment.now, "bare": 7}


class Talking(PubSub):
    """Peers ask each other for a reply that comes late, and tell of it."""

    def __init__(self, environment: Environment, parameters: TalkingParameters) -> None:
        super().__init__(environment)
        self.watch = Watch(environment.channel("watch"))
        self.topics: set[int] = set()
        environment.serve_later(LookupRequest, self.on_asked)
        environment.handle(EventData, self.on_event)

    def start(self, contacts: Sequence[int]) -> None:
        self.watch.start(contacts)

    def stop(self, graceful: bool) -> None:
        pass

    def on_asked(self, sender: int, message: LookupRequest, reply: Callable[[Message], None]) -> None:
        def answer() -> None:
            reply(Goodbye())
            reply(Goodbye())

        self.environment.set_timer(LATE, answer)

    def on_event(self, sender: int, message: EventData) -> None:
        self.environment.record(BLOCK, float(message.hops), subject=message.event, unit="hops")
        if message.topic in self.topics:
            self.environment.deliver(
                Event(message.event, message.publisher, message.topic, hops=message.hops)
            )

    def publish(self, event: Event) -> None:
        environment = self.environment
        data = EventData(event.number, event.topic or 0, event.publisher, 1)
        for peer in range(4):
            if peer != environment.peer:
                environment.send(peer, data)
        asked = (environment.peer + 1) % 4
        environment.request(
            asked,
            LookupRequest(),
            1.0,
            lambda reply: environment.record("answered", environment.now, subject=-1 - asked, unit="s"),
            lambda: environment.record("silent", 1.0, subject=asked),
        )

    def subscribe(self, interest: Interest) -> None:
        assert isinstance(interest, TopicInterest)
        self.topics.add(interest.topic)

    def unsubscribe(self, interest: Interest) -> None:
        assert isinstance(interest, TopicInterest)
        self.topics.discard(interest.topic)


TALKING = System("talking", "A toy that talks", "none", TalkingParameters, Talking)
SYSTEMS["talking"] = TALKING
