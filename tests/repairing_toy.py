"""A toy system that delivers in every way in which a system can, for tests of what telemetry tells of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict

from emulator.contract.protocol import Environment, Event, Interest, Message, PubSub, TopicInterest
from emulator.contract.registry import SYSTEMS
from emulator.contract.system import System
from trellis.v1.overlay import Goodbye, NewscastExchange
from trellis.v1.pubsub import EventData, Notification, Pull

_FANOUT = 2
_TOLD = 3
"""Events that a peer tells of in each round."""


class RepairingParameters(BaseModel):
    model_config = ConfigDict(extra="forbid")

    period: float = 1.0


class Repairing(PubSub):
    """Events spread by rumour, and gossip repairs what it misses.

    A peer hands its application every second event along with the one before it: two at once while it
    handles a message, or one alone in its next round. What it lacks it pulls, and what it pulled from a peer
    that is gone it pulls from another one.
    """

    def __init__(self, environment: Environment, parameters: RepairingParameters) -> None:
        super().__init__(environment)
        self.period = parameters.period
        self.known: set[int] = set()
        self.topics: set[int] = set()
        self.events: dict[int, EventData] = {}
        self.held_back: list[Event] = []
        self.pulled: dict[int, int] = {}
        """The peer that each event was pulled from."""
        environment.handle(NewscastExchange, self.on_hello)
        environment.handle(Goodbye, lambda sender, _: environment.report_gone(sender))
        environment.handle(EventData, lambda _, message: self.take(message))
        environment.handle(Notification, self.on_notification)
        environment.serve(Pull, lambda _, message: self.events.get(message.event))

    def start(self, contacts: Sequence[int]) -> None:
        self.meet(contacts)
        self.environment.every(self.period, self.round)

    def stop(self, graceful: bool) -> None:
        for peer in self.known:
            self.environment.send(peer, Goodbye())

    def subscribe(self, interest: Interest) -> None:
        assert isinstance(interest, TopicInterest)
        self.topics.add(interest.topic)

    def unsubscribe(self, interest: Interest) -> None:
        assert isinstance(interest, TopicInterest)
        self.topics.discard(interest.topic)

    def publish(self, event: Event) -> None:
        self.take(EventData(event.number, event.topic or 0, event.publisher, 0, event.payload))

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return {"known": sorted(self.known)}

    def on_unreachable(self, peer: int) -> None:
        self.known.discard(peer)
        for event in [event for event, asked in self.pulled.items() if asked == peer]:
            self.pull(event, self.some(1))

    def on_hello(self, sender: int, message: NewscastExchange) -> None:
        self.known.add(sender)
        if not message.reply:
            self.environment.send(sender, NewscastExchange(reply=True))

    def on_notification(self, sender: int, message: Notification) -> None:
        if message.event not in self.events and message.event not in self.pulled:
            self.pull(message.event, [sender])

    def meet(self, contacts: Sequence[int]) -> None:
        for contact in contacts:
            self.environment.send(contact, NewscastExchange())

    def some(self, count: int) -> list[int]:
        known = sorted(self.known)
        return self.environment.random.sample(known, min(count, len(known)))

    def round(self) -> None:
        if not self.known:
            self.environment.find_contacts(self.meet)
        for peer in self.some(1):
            for event in list(self.events.values())[-_TOLD:]:
                self.environment.send(peer, Notification(event.event, event.topic, event.publisher, 0))
        self.hand_over()

    def pull(self, event: int, peers: Sequence[int]) -> None:
        self.pulled.pop(event, None)
        for peer in peers:
            self.pulled[event] = peer
            self.environment.request(
                peer, Pull(event), 2 * self.period, self.take, lambda: self.pulled.pop(event, None) and None
            )

    def take(self, message: Message) -> None:
        assert isinstance(message, EventData)
        self.pulled.pop(message.event, None)
        if message.event in self.events:
            return
        onward = EventData(message.event, message.topic, message.publisher, message.hops + 1, message.payload)
        self.events[message.event] = onward
        for peer in self.some(_FANOUT):
            self.environment.send(peer, onward)
        if message.topic in self.topics:
            self.held_back.append(
                Event(message.event, message.publisher, message.topic, {}, message.payload, message.hops)
            )
            if len(self.held_back) > 1:
                self.hand_over()

    def hand_over(self) -> None:
        for event in self.held_back:
            self.environment.deliver(event)
        self.held_back.clear()


REPAIRING = System("repairing", "Rumours and repair, for tests", "none", RepairingParameters, Repairing)
SYSTEMS["repairing"] = REPAIRING
