"""A toy that publishes honestly, and tells one lie; for both runtimes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from pydantic import BaseModel, ConfigDict

from emulator.contract.protocol import Completion, Environment, Event, Interest, Lookup, PubSub, TopicInterest
from emulator.contract.registry import SYSTEMS
from emulator.contract.system import System
from emulator.messages.message import EVENT, Message
from trellis.v1.pubsub import EventData, Pull

Lie = Literal[
    "",
    "never published",
    "too early",
    "of a publisher that was down",
    "another publisher",
    "another topic",
    "not asked for",
    "no hops",
    "too fast",
    "a bit too fast",
    "hops beyond the trace",
    "hops beyond the time",
    "twice",
    "to those who come back",
    "by a longer way",
    "after it left",
    "a lookup",
    "a result",
    "a changed message",
    "a negative delay",
    "negative hops",
    "negative bytes",
    "dropped",
]


class LyingParameters(BaseModel):
    model_config = ConfigDict(extra="forbid")

    lie: Lie = ""


class Shrunken(Message):
    """A message that says that it has less than no bytes."""

    NAME = "Shrunken"

    def kind(self) -> int:
        return EVENT

    def measure(self) -> int:
        return -5


class Lying(PubSub):
    """Sends each event to all peers. Peer 1 lies about what it gets, peer 0 about what it sends."""

    def __init__(self, environment: Environment, parameters: LyingParameters) -> None:
        super().__init__(environment)
        self.lie = parameters.lie
        self.others = environment.shared(dict[int, Lying])
        self.others[environment.peer] = self
        self.topics: set[int] = set()
        self.sent: set[tuple[int, int]] = set()
        environment.handle(EventData, self.on_event)
        self.kept = EventData()
        environment.handle(Pull, self.on_pull)

    def start(self, contacts: Sequence[int]) -> None:
        if self.lie == "too early" and self.environment.peer == 1:
            self.deliver(Event(0, 0, 1, hops=1))

    def stop(self, graceful: bool) -> None:
        pass

    def deliver(self, event: Event) -> None:
        self.environment.deliver(event)

    def on_pull(self, sender: int, message: Pull) -> None:
        """Peer 2 passes on what came to it four times from peer to peer; the question took one message."""
        self.environment.send(4, self.onward(self.kept))

    def onward(self, data: EventData) -> EventData:
        return EventData(data.event, data.topic, data.publisher, data.hops + 1)

    def on_event(self, sender: int, message: EventData) -> None:
        if self.lie == "by a longer way" and self.environment.peer in (1, 2):
            self.kept = message
            if message.hops < 4:
                self.environment.send(3 - self.environment.peer, self.onward(message))
            if message.hops > 2:
                return
        event = Event(message.event, message.publisher, message.topic, hops=message.hops)
        peer = self.environment.peer
        if event.topic not in self.topics and self.lie != "not asked for":
            return
        self.deliver(event)
        if peer != 1:
            return
        match self.lie:
            case "never published":
                self.deliver(replace(event, number=99))
            case "of a publisher that was down":
                self.deliver(Event(2, 4, 1, hops=1))
            case "another publisher":
                self.deliver(replace(event, publisher=2))
            case "another topic":
                self.deliver(replace(event, topic=5))
            case "twice":
                self.deliver(event)
            case "a lookup":
                self.environment.deliver(Lookup(3, 0, 77, 1))
            case "a result":
                self.environment.deliver(Completion("agree", 3))
            case "dropped":
                self.environment.drop(EventData, "its lists do not fit")

    def publish(self, event: Event) -> None:
        world, lie = self.environment, self.lie
        if lie == "too fast":
            self.others[1].deliver(replace(event, hops=1))
        elif lie == "a bit too fast":
            world.set_timer(0.045, lambda: self.others[1].deliver(replace(event, hops=1)))
        elif lie == "after it left" and event.number == 1:
            self.others[4].deliver(replace(event, hops=1))
        elif lie == "negative hops":
            self.others[1].deliver(replace(event, hops=-3))
        elif lie == "a negative delay":
            world.set_timer(-1.0, lambda: None)
        hops = {"no hops": 0, "hops beyond the trace": 2, "hops beyond the time": 999}.get(lie, 1)
        data = EventData(event.number, event.topic or 0, event.publisher, hops)
        if lie == "negative bytes":
            world.send(1, Shrunken())
        if lie == "by a longer way":
            world.send(1, data)
            world.set_timer(1.0, lambda: world.send(2, Pull(event.number)))
            return
        if lie == "to those who come back":
            for after in (0.0, 3.0):
                world.set_timer(after, partial(world.send, 1, data))
            return
        for peer in (1, 2, 3, 4):
            if lie == "hops beyond the time":
                # Outside of the event's trace only the time says how many hops there can have been.
                world.every(0.5, partial(self.send_once, peer, data))
            else:
                world.send(peer, data)
        if lie == "a changed message":
            data.hops = 77

    def send_once(self, peer: int, data: EventData) -> None:
        if (peer, data.event) not in self.sent:
            self.sent.add((peer, data.event))
            self.environment.send(peer, data)

    def subscribe(self, interest: Interest) -> None:
        assert isinstance(interest, TopicInterest)
        self.topics.add(interest.topic)

    def unsubscribe(self, interest: Interest) -> None:
        assert isinstance(interest, TopicInterest)
        self.topics.discard(interest.topic)


LYING = System("lying", "A toy that tells a lie", "none", LyingParameters, Lying)
SYSTEMS["lying"] = LYING
