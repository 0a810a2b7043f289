"""Toy systems for tests of the real-time runtime; hosts import this module to have them registered."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Sequence
from typing import Any

from google.protobuf.message import Message
from pydantic import BaseModel
from trellis.v1 import overlay_pb2, pubsub_pb2

from emulator.protocol import Contact, Environment, Event, Handler, Interest, PubSub, TopicInterest
from emulator.registry import SYSTEMS, System

if limit := os.environ.get("TOY_FILE_LIMIT"):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))


class FloodParameters(BaseModel):
    period: float = 0.5
    block: float = 0.0
    """Seconds for which each round stops the world."""
    fail_at: float = 1e9
    """Trial time at which peer 0 raises an error."""


class Flood(PubSub):
    """Every peer passes every event on to all that it knows; knowing is mutual."""

    def __init__(self, world: Environment, parameters: FloodParameters) -> None:
        self.world = world
        self.parameters = parameters
        self.known: set[int] = set()
        self.topics: set[int] = set()
        self.seen: set[int] = set()
        self.unreachable = 0

    def handlers(self) -> dict[type[Message], Handler]:
        return {overlay_pb2.Goodbye: self.on_hello, pubsub_pb2.EventData: self.on_event}

    def start(self, bootstrap: Sequence[Contact]) -> None:
        self.meet(bootstrap)
        self.world.every(self.parameters.period, self.round)

    def stop(self, graceful: bool) -> None:
        pass

    def meet(self, contacts: Sequence[Contact]) -> None:
        for contact in contacts:
            self.known.add(contact.peer)
            self.world.send(contact.peer, overlay_pb2.Goodbye())

    def round(self) -> None:
        if self.parameters.block:
            time.sleep(self.parameters.block)
        if self.world.now > self.parameters.fail_at and self.world.self_contact.peer == 0:
            raise RuntimeError("this toy breaks by intention")
        if self.known:
            self.world.send(self.world.random.choice(sorted(self.known)), overlay_pb2.Goodbye())
        else:
            self.world.find_contacts(self.meet)

    def on_hello(self, sender: int, _: Any) -> None:
        self.known.add(sender)

    def on_event(self, sender: int, message: pubsub_pb2.EventData) -> None:
        if message.event not in self.seen:
            self.seen.add(message.event)
            if message.topic in self.topics:
                self.world.deliver(Event(message.event, message.publisher, message.topic, hops=message.hops))
            self.world.set_timer(0.001, lambda: self.pass_on(message))

    def pass_on(self, message: pubsub_pb2.EventData) -> None:
        onward = pubsub_pb2.EventData()
        onward.CopyFrom(message)
        onward.hops += 1
        for peer in self.known:
            self.world.send(peer, onward)

    def publish(self, event: Event) -> None:
        self.seen.add(event.number)
        self.pass_on(
            pubsub_pb2.EventData(
                event=event.number, topic=event.topic or 0, publisher=event.publisher, payload=event.payload
            )
        )

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

    def neighbours(self) -> dict[str, Sequence[int]]:
        return {"known": sorted(self.known)}


SYSTEMS["flood"] = System("flood", "Flooding, for tests", "none", FloodParameters, Flood)
