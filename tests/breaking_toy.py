"""Toys that break the contract, each in one way; for both runtimes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from emulator.contract.protocol import Environment, Event, Interest, PubSub, TopicInterest
from emulator.contract.registry import SYSTEMS
from emulator.contract.system import System
from trellis.v1.overlay import NewscastExchange, Profile
from trellis.v1.pubsub import EventData

Way = Literal["", "message", "part", "delay", "time-out"]


class BreakingParameters(BaseModel):
    model_config = ConfigDict(extra="forbid")

    way: Way = ""


class Breaking(PubSub):
    """Sends each event to its neighbours in number."""

    def __init__(self, environment: Environment, parameters: BreakingParameters) -> None:
        super().__init__(environment)
        self.way = parameters.way
        self.calls: list[float] = []
        environment.handle(EventData, self.on_event)
        environment.handle(NewscastExchange, lambda sender, message: None)

    def start(self, contacts: Sequence[int]) -> None:
        pass

    def stop(self, graceful: bool) -> None:
        pass

    def on_event(self, sender: int, message: EventData) -> None:
        self.environment.deliver(Event(message.event, message.publisher, message.topic, hops=1))

    def publish(self, event: Event) -> None:
        world = self.environment
        data = EventData(event.number, event.topic or 0, event.publisher, 1)
        profile = Profile(peer=world.peer, topics=3)
        world.send(1, data)
        world.send(2, data)
        world.send(1, NewscastExchange(True, [profile]))
        if self.way == "message":
            data.hops = 7
        elif self.way == "part":
            profile.topics = 5
        elif self.way == "delay":
            world.set_timer(-4.0, lambda: self.calls.append(world.now))
        elif self.way == "time-out":
            world.request(1, EventData(event.number), -0.5, lambda reply: None, lambda: None)

    def subscribe(self, interest: Interest) -> None:
        assert isinstance(interest, TopicInterest)

    def unsubscribe(self, interest: Interest) -> None:
        pass


BREAKING = System("breaking", "A toy that breaks the contract", "none", BreakingParameters, Breaking)
SYSTEMS["breaking"] = BREAKING
