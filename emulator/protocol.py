"""The contract between a protocol and the world that runs it.

A protocol is an object that is driven by calls and asks the world for everything through its
`Environment`. It reads no clock, opens no socket and draws no randomness of its own, so the same
code runs on a virtual clock, in local processes and in pods.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from typing import Protocol as Interface

from google.protobuf.message import Message

Handler = Callable[[int, Any], None]
"""Called with the sender's number and the message."""


@dataclass(frozen=True, slots=True)
class Contact:
    """How to reach a peer: its number in the plan, which a runtime resolves to a host."""

    peer: int


@dataclass(frozen=True, slots=True)
class TopicInterest:
    """A subscription to one topic.

    `rate` is the topic's advertised publication rate (events/s); Vitis weighs its utility by it
    (equation 1). Equal rates may be given as any equal numbers.
    """

    topic: int
    rate: float = 1.0


@dataclass(frozen=True, slots=True)
class RangeInterest:
    """A conjunction of closed ranges over numeric attributes: name -> (low, high)."""

    ranges: Mapping[str, tuple[float, float]]


Interest = TopicInterest | RangeInterest


@dataclass(frozen=True, slots=True)
class Event:
    """A publication, at the publisher and at each subscriber.

    `hops` is the number of overlay hops that the event travelled (0 at the publisher).
    """

    number: int
    publisher: int
    topic: int | None = None
    attributes: Mapping[str, float] = field(default_factory=dict)
    payload: bytes = b""
    hops: int = 0


@dataclass(frozen=True, slots=True)
class Lookup:
    """A lookup, at the peer that it ended at.

    `hops` is the number of overlay hops that it travelled (0 if the origin is the closest itself).
    """

    number: int
    origin: int
    key: int
    hops: int


@dataclass(frozen=True, slots=True)
class Installation:
    """A subscription that is in force, told at the peer that stores it.

    `hops` is the number of messages one after the other from the subscriber to here.
    """

    subscriber: int
    hops: int


Outcome = Event | Lookup | Installation
"""What an operation was for."""


class Timer(Interface):
    """A call that is to be made, once or periodically."""

    def cancel(self) -> None:
        """Forget the call. Harmless once it was made."""
        ...


class Delay(Timer, Interface):
    """A call that is to be made once."""

    def hasten(self) -> None:
        """Make the call at once, but still in the trace of the operation that set it."""
        ...


class Environment(Interface):
    """All that a protocol may ask of the world."""

    @property
    def now(self) -> float:
        """Seconds since the trial began."""
        ...

    @property
    def random(self) -> random.Random:
        """This peer's own stream, seeded by trial seed and peer."""
        ...

    @property
    def self_contact(self) -> Contact:
        """How others reach this peer."""
        ...

    def send(self, peer: int, message: Message) -> None:
        """Send without waiting. A message that has been sent is never changed again.

        If the peer turns out to be unreachable, `Component.on_unreachable` follows after the
        network's time-out, unless the runtime cannot tell; silence is always possible.
        """
        ...

    def set_timer(self, delay: float, callback: Callable[[], None]) -> Delay:
        """Call once, `delay` seconds from now, in the trace of the operation now handled.

        After an infinite delay the call is made only if it is hastened, and waiting for that costs nothing.
        """
        ...

    def every(self, period: float, callback: Callable[[], None]) -> Timer:
        """Call each `period` seconds, first after a random part of one. Maintenance: never traced."""
        ...

    def find_contacts(self, callback: Callable[[Sequence[Contact]], None]) -> None:
        """Ask the bootstrap service again for a random few live peers, when all contacts are gone."""
        ...

    def deliver(self, outcome: Outcome) -> None:
        """Hand what the operation now handled was for to the application at this peer.

        A publisher's own event is no delivery: the runtime leaves it out.
        """
        ...


class Component(ABC):
    """A part of a peer's protocol stack: membership, overlay or publish/subscribe."""

    def handlers(self) -> dict[type[Message], Handler]:
        """The messages that this part and the parts below it handle, by class."""
        return {}

    @abstractmethod
    def start(self, bootstrap: Sequence[Contact]) -> None:
        """Join through a random few live peers (none for the first peer)."""

    @abstractmethod
    def stop(self, graceful: bool) -> None:
        """Leave. Messages sent here still go out when `graceful`; a crash sends none."""

    def on_unreachable(self, peer: int) -> None:  # noqa: B027 - silence is a fine answer
        """A send to `peer` failed."""

    def gauges(self) -> dict[str, float]:
        """Numbers about this peer's own state that a figure needs, by metric name."""
        return {}


class OverlayApplication(Interface):
    """The upcalls of the common API for structured overlays (Dabek et al., IPTPS 2003)."""

    def forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        """A message that came here in `hops` is about to go on to `next_hop`; false stops it here."""
        ...

    def deliver(self, key: int, message: Message, origin: int, hops: int) -> None:
        """This peer is the closest to `key` of those it knows."""
        ...

    def update(self, peer: int, joined: bool) -> None:
        """A neighbour came or went."""
        ...


class Overlay(Component):
    """A structured overlay with the common API of Dabek et al. (IPTPS 2003)."""

    application: OverlayApplication | None = None
    routes_version: int = 0
    """Changes whenever `next_hop` may answer otherwise than before."""

    @abstractmethod
    def route(self, key: int, message: Message) -> None:
        """Send `message` hop by hop to the live peer whose identifier is closest to `key`."""

    @abstractmethod
    def next_hop(self, key: int) -> int | None:
        """The neighbour that `key` would be routed to, or None if this peer is the closest."""

    @abstractmethod
    def neighbour_set(self, count: int) -> Sequence[int]:
        """Up to `count` known peers next to this one in identifier space, nearest first.

        They take over this peer's keys if it fails: the place for replicas.
        """

    @abstractmethod
    def neighbours(self) -> Mapping[str, Sequence[int]]:
        """The neighbour sets by kind (for example successor, small-world, friend)."""


class Application(Component):
    """What runs at one peer, on whatever it is built of."""

    @abstractmethod
    def neighbours(self) -> Mapping[str, Sequence[int]]:
        """The overlay links of this peer, by kind, for the analysis of the topology."""


class PubSub(Application):
    """A publish/subscribe system at one peer."""

    @abstractmethod
    def subscribe(self, interest: Interest) -> None:
        """Ask for the events that match `interest` from now on. Allowed before `start`."""

    @abstractmethod
    def unsubscribe(self, interest: Interest) -> None:
        """Take back an earlier `subscribe` with an equal interest."""

    @abstractmethod
    def publish(self, event: Event) -> None:
        """Send `event` to all peers that are interested in it."""


class LookupService(Application):
    """A structured overlay under measurement: who is the closest to a key?"""

    @abstractmethod
    def lookup(self, number: int, key: int) -> None:
        """Find the peer that is closest to `key`; `Environment.deliver` follows there, once."""
