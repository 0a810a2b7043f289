"""The contract between a protocol and the world that runs it.

A peer's protocol is made of components: a membership, an overlay, a publish/subscribe system. A component
is driven by calls and asks the world for everything through its `Environment`. It reads no clock, opens no
socket and draws no randomness of its own, so the same code runs on a virtual clock, in local processes and in
pods.

Each component has a channel of its own: messages that it sends arrive at the component of the same channel at
the other peer. One peer may thus hold several overlays, also two of the same kind.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, TypeVar
from typing import Protocol as Interface

from mypy_extensions import i64, mypyc_attr

from emulator.contract.gauges import Gauge
from emulator.contract.identifiers import IdentifierSpace
from emulator.contract.interests import Interest, RangeInterest, TopicInterest
from emulator.contract.message_pool import MessagePool
from emulator.contract.outcomes import Completion, Event, Installation, Lookup, Outcome
from emulator.messages.message import Message
from trellis.v1.overlay import Contact

__all__ = [
    "Application",
    "Completion",
    "Component",
    "Contact",
    "Environment",
    "Event",
    "Gauge",
    "Installation",
    "Interest",
    "Lookup",
    "LookupService",
    "Membership",
    "Message",
    "NeighbourListener",
    "Outcome",
    "Overlay",
    "OverlayApplication",
    "PubSub",
    "RangeInterest",
    "Timer",
    "TopicInterest",
]

M = TypeVar("M", bound=Message)
S = TypeVar("S")


@mypyc_attr(allow_interpreted_subclasses=True)
class Timer(ABC):
    """A call that the world will make, once or periodically."""

    @abstractmethod
    def cancel(self) -> None:
        """Forget the call. This is harmless once the call was made."""

    @abstractmethod
    def hasten(self) -> None:
        """Make the call at once, but still in the trace of the operation that set it."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Environment(ABC):
    """The world as one component sees it: everything that the component may ask for."""

    name: str
    """The names from the root to this channel, joined by slashes; empty at the root."""
    peer: int
    """This peer's number in the plan, by which others reach it."""
    session: int
    """The number of this session of the peer: 0 for the first, and more for each later one."""
    role: str
    """This peer's role in the plan, such as "peer", "server" or "relay"."""
    identifier: int
    """The uniform identifier, of 128 bits, that this peer takes in an overlay that wants one: the hash of its
    number, unless the experiment has an attacker choose another."""
    random: random.Random
    """This peer's own stream, seeded by trial seed and peer."""

    @property
    @abstractmethod
    def now(self) -> float:
        """The seconds since the trial began."""

    @abstractmethod
    def channel(self, name: str) -> Environment:
        """Return the environment of a part of this component, which has a channel of its own below this one.

        Raises ValueError if this component has a part of that name already.
        """

    @abstractmethod
    def attach(self, component: Component) -> None:
        """Make `component` the one whose channel this is. The constructor of `Component` calls this.

        Raises ValueError if another component has the channel.
        """

    @abstractmethod
    def handle(self, kind: type[M], handler: Callable[[int, M], None]) -> None:
        """Have `handler(sender, message)` called for each message of this class on this channel.

        Raises ValueError if the class has a handler on this channel already.
        """

    @abstractmethod
    def serve(self, kind: type[M], answer: Callable[[int, M], Message | None]) -> None:
        """Have the messages of a class that is sent by `request` answered by `answer(sender, message)`.

        None sends no reply, and the sender's time-out follows.
        """

    @abstractmethod
    def serve_later(self, kind: type[M], answer: Callable[[int, M, Callable[[Message], None]], None]) -> None:
        """Have the messages of a class that is sent by `request` answered when `answer` has what it needs.

        `answer(sender, message, reply)` may keep `reply` and call `reply(message)` once, at any time. The
        reply belongs to the trace that is handled then. A second call sends nothing, nor does one after this
        life has ended; a reply after the sender's time-out is dropped there, as one that never came.
        """

    @abstractmethod
    def send(self, peer: int, message: Message) -> None:
        """Send a message without waiting. A message that has been sent is never changed again.

        If the peer turns out to be unreachable, the runtime calls `Component.on_unreachable` of all
        components of this peer after the network's time-out, unless it cannot tell; silence is always
        possible.
        """

    def send_row(self, peer: int, pool: MessagePool, row: i64) -> None:
        """Send the message that a row of a pool stands for. The pool belongs to this channel."""
        self.send(peer, pool.view(row))

    @abstractmethod
    def request(
        self,
        peer: int,
        message: Message,
        timeout: float,
        replied: Callable[[Message], None],
        failed: Callable[[], None],
    ) -> Timer:
        """Send what the other peer serves, and make exactly one of two calls.

        `replied(reply)` is called when the reply comes; `failed()` after `timeout` seconds without it, or as
        soon as the peer turns out to be unreachable. A reply that comes later is dropped. Cancelling the
        returned timer forgets both calls; hastening it makes `failed` follow at once.
        """

    @abstractmethod
    def set_timer(self, delay: float, callback: Callable[[], None]) -> Timer:
        """Make the call once, `delay` seconds from now, in the trace of the operation now handled.

        A negative delay breaks the contract: it counts as 0 and makes the trial invalid, and it raises
        ValueError where a trial is checked.
        NaN always raises it. After an infinite delay the call is made only if it is hastened, at no cost.
        """

    @abstractmethod
    def every(self, period: float, callback: Callable[[], None]) -> Timer:
        """Make the call each `period` seconds, first after a random part of one. It is maintenance and never
        traced."""

    @abstractmethod
    def find_contacts(self, callback: Callable[[Sequence[int]], None]) -> None:
        """Ask the bootstrap service again for a few random live peers, when all contacts are gone."""

    @abstractmethod
    def deliver(self, outcome: Outcome) -> None:
        """Hand the outcome to the application at this peer; it is recorded here and now, traced or not.

        The runtime leaves a publisher's own event out, because it is no delivery. Raises ValueError for
        negative hops.
        """

    def drop(self, kind: type[Message], reason: str) -> None:  # noqa: B027 - a world need not count
        """Count a message of this class that this component cannot use, or passes on no further.

        `reason` is a few words, the same for all messages of one sort, such as "its lists do not fit".
        """

    @abstractmethod
    def record(self, name: str, value: float, subject: int | None = None, unit: str = "") -> None:
        """Record an observation of this component about itself, here and now, traced or not.

        `subject` is what the observation is about: a peer's number, an event's, at most 64 bits with a sign.
        NaN and infinity mean that the value was not measured. A name has one unit. Raises TypeError if
        `value` or `subject` is no number, or `name` or `unit` no text; ValueError if `name` is empty, longer
        than 200 characters or more than a line, if its unit was another one before, and if `subject` is too
        large.
        """

    @abstractmethod
    def take_identifier(self, identifier: int, space: IdentifierSpace) -> None:
        """Record that this peer has this identifier in the overlay of this channel from now on."""

    @abstractmethod
    def shared(self, make: Callable[..., S], *arguments: object) -> S:
        """Return the object that all peers of this host share which ask with the same `make` and arguments.

        The first one to ask has it made by `make(*arguments)`.

        It saves memory or time and changes no outcome: what a peer knows does not depend on who shares its
        host.
        """

    @abstractmethod
    def report_gone(self, peer: int) -> None:
        """Tell all components of this peer that `peer` has left, as if a send to it had failed."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Component(ABC):
    """A part of a peer's protocol stack, with a channel of its own."""

    GAUGES: ClassVar[Mapping[str, Gauge]] = {}
    """The descriptions of the component's gauges, by name; a gauge without one is shown as a bare number."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        environment.attach(self)

    @abstractmethod
    def start(self, contacts: Sequence[int]) -> None:
        """Join through a few random live peers (none for the first peer)."""

    @abstractmethod
    def stop(self, graceful: bool) -> None:
        """Leave. Messages sent here still go out when `graceful`; a crash sends none."""

    def on_unreachable(self, peer: int) -> None:  # noqa: B027 - most components have nothing to do
        """Take note that a send of this peer to `peer` failed, on whatever channel.

        The runtime calls this on all components of the peer, parts before the components made of them.
        """

    def gauges(self) -> dict[str, float]:
        """Return numbers about this component's own state that a figure needs, by metric name.

        NaN and infinity mean that a number was not measured.
        """
        return {}

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        """Return the links of this component by kind (successor, small-world, friend, ...), for the
        analysis."""
        return {}


class NeighbourListener(Interface):
    """A listener to the neighbours of a membership: any class that has this method."""

    def neighbour_changed(self, contact: Contact, joined: bool) -> None:
        """Take note that a neighbour came (`joined`) or went: the upcall `update` of the common API."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Membership(Component):
    """Neighbours and random samples of peers: an unstructured overlay, or the base of a structured one."""

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self._listeners: list[NeighbourListener] = []

    def add_listener(self, listener: NeighbourListener) -> None:
        """Tell `listener` of each neighbour that comes or goes from now on."""
        self._listeners.append(listener)

    @abstractmethod
    def sample(self, count: int) -> Sequence[int]:
        """Return up to `count` other peers that are likely to be alive, as random as the membership
        has them."""

    def tell_change(self, contact: Contact, joined: bool) -> None:
        """Tell all listeners of a neighbour that came or went."""
        for listener in self._listeners:
            listener.neighbour_changed(contact, joined)


class OverlayApplication(NeighbourListener, Interface):
    """The upcalls of the common API for structured overlays (Dabek et al., IPTPS 2003).

    Any class that has these methods will do; it does not inherit from this one.
    """

    def forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        """Return whether a message that came here in `hops` may go on to `next_hop`; false stops it here."""
        ...

    def deliver(self, key: int, message: Message, origin: Contact, hops: int) -> None:
        """Take a message that ends here: this peer is the closest to `key` of those it knows."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Overlay(Membership):
    """A structured overlay with the common API of Dabek et al. (IPTPS 2003).

    Several applications may use one overlay: each names the classes of the messages that it routes.
    """

    def __init__(self, environment: Environment, space: IdentifierSpace, identifier: int) -> None:
        super().__init__(environment)
        self.space = space
        """The space of the overlay's identifiers and keys; its metric says who is the closest to a key."""
        self.identifier = identifier
        """This peer's own identifier; it may change while the peer is up, by `move_to`."""
        self.digit_bits = 0
        """The bits of a digit, if the overlay routes by prefixes; else 0."""
        self.routes_version = 0
        """A number that changes whenever `next_hop` may answer otherwise than before."""
        self._applications: dict[type[Message], OverlayApplication] = {}

    @property
    @abstractmethod
    def ready(self) -> bool:
        """This is true if this peer has joined, so that it may be the closest to keys."""

    @abstractmethod
    def route(self, key: int, message: Message) -> None:
        """Send `message` hop by hop to the live peer whose identifier is closest to `key`."""

    @abstractmethod
    def next_hop(self, key: int) -> Contact | None:
        """Return the neighbour that `key` would be routed to, or None if this peer is the closest."""

    @abstractmethod
    def neighbour_set(self, count: int) -> Sequence[Contact]:
        """Return up to `count` known peers next to this one in identifier space, nearest first.

        They take over this peer's keys if it fails, so replicas belong there.
        """

    def carry(self, application: OverlayApplication, *kinds: type[Message]) -> None:
        """Make the upcalls about messages of these classes, and those about neighbours, to `application`.

        Raises ValueError if a class belongs to another application.
        """
        for kind in kinds:
            if self._applications.setdefault(kind, application) is not application:
                raise ValueError(f"{kind.NAME} is routed by two applications of one overlay")
        self.add_listener(application)

    def application_of(self, message: Message) -> OverlayApplication:
        """Return the application that this message belongs to. Raises KeyError if none carries its class."""
        return self._applications[type(message)]

    def move_to(self, identifier: int) -> None:
        """Take this identifier from now on. An overlay calls this when it starts and whenever it moves."""
        self.identifier = identifier
        self.environment.take_identifier(identifier, self.space)


@mypyc_attr(allow_interpreted_subclasses=True)
class Application(Component):
    """The whole protocol of one peer, whatever it is built of."""


@mypyc_attr(allow_interpreted_subclasses=True)
class PubSub(Application):
    """A publish/subscribe system at one peer."""

    @abstractmethod
    def subscribe(self, interest: Interest) -> None:
        """Ask for the events that match `interest` from now on. This is allowed before `start`."""

    @abstractmethod
    def unsubscribe(self, interest: Interest) -> None:
        """Take back an earlier `subscribe` with an equal interest."""

    @abstractmethod
    def publish(self, event: Event) -> None:
        """Send `event` to all peers that are interested in it."""


@mypyc_attr(allow_interpreted_subclasses=True)
class LookupService(Application):
    """A structured overlay under measurement, which is asked who is the closest to a key."""

    @abstractmethod
    def lookup(self, number: int, key: int) -> None:
        """Find the peer that is closest to `key`; `Environment.deliver` is called there, once."""
