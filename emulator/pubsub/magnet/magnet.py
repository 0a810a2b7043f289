"""Magnet: publish/subscribe by topic on a ring where similar subscribers stand next to each other.

Girdzijauskas, Chockler, Vigfusson, Tock, Melamed: Magnet: Practical Subscription Clustering for
Internet-Scale Publish/Subscribe, DEBS 2010. With `placement: hashed` it is the paper's strawman: the same
trees on a ring of hashed identifiers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from emulator.gossip.profiles import make_profile, utility
from emulator.identifiers import ClockwiseRing, hash_of_topic
from emulator.overlays.oscar.overlay import Oscar
from emulator.protocol import (
    Application,
    Contact,
    Environment,
    Event,
    Interest,
    Message,
    Overlay,
    PubSub,
    TopicInterest,
)
from emulator.pubsub.magnet.membership import InterestMembership
from emulator.pubsub.magnet.parameters import MagnetParameters, parameters_over
from emulator.pubsub.magnet.seat import Seat
from emulator.pubsub.magnet.trees import PathTrees
from emulator.system import OverlayKind, System
from trellis.v1.magnet import TreeSearch
from trellis.v1.overlay import Profile
from trellis.v1.pubsub import EventData
from trellis.v1.scribe import Multicast, RootAddress

_PAPER: Final = "Girdzijauskas, Chockler, Vigfusson, Tock, Melamed: Magnet, DEBS 2010"
_LOOK: Final = 1.0
"""Seconds between two looks at whether the peer is to take a place."""
_REMEMBERED_EVENTS: Final = 10_000
_KNOWN_HOMES: Final = 10_000
_PATIENCE: Final = 10
"""Seconds for which a publication waits until its publisher has joined the control overlay."""


class Magnet(PubSub):
    """One peer."""

    def __init__(
        self,
        environment: Environment,
        parameters: MagnetParameters,
        create: Callable[[Environment], Overlay],
    ) -> None:
        """`create` makes this peer's part of the control overlay from the environment of its channel."""
        super().__init__(environment)
        self._parameters = parameters
        self._rates: dict[int, float] = {}
        self._profile: Profile | None = None
        self._version = 0
        self.control = create(environment.channel("control"))
        self.ring = Oscar(
            environment.channel("interest"),
            parameters.interest,
            space=ClockwiseRing(parameters.identifier_bits),
            profile=self._told if parameters.bias == "interests" else None,
            prefers=self._similarity if parameters.bias == "interests" else None,
        )
        self.membership = InterestMembership(
            environment.channel("membership"),
            self.control,
            parameters.of_membership(),
            parameters.samples,
            parameters.round,
            self._rates.keys(),
        )
        self.trees = PathTrees(
            environment,
            self.ring,
            self.control,
            parameters,
            self._rates.keys(),
            self.membership.subscriber,
        )
        self._seat = Seat(environment, self.ring, self.membership, self._describe, self._settled)
        self.control.carry(self, TreeSearch, EventData)
        self._contacts: Sequence[int] = ()
        self._started = False
        self._joins_due = False
        self._asked_at = 0.0
        """The time at which the peer began to wait for views (s)."""
        self._changes = 0
        """Interests that changed since the peer took its place."""
        self._known_homes: dict[int, int] = {}
        self._seen: dict[int, None] = {}
        environment.handle(EventData, self._on_event)
        environment.handle(RootAddress, self._on_home_address)
        environment.serve(Multicast, self._on_multicast)

    def start(self, contacts: Sequence[int]) -> None:
        self._contacts = contacts
        self._started = True
        self._asked_at = self.environment.now
        self.control.start(contacts)
        self.membership.start()
        self.ring.run()
        self.trees.start()
        for topic in self._rates:
            self.membership.join(topic)
        if not contacts or self._parameters.placement == "hashed":
            self._changes = 0
            self._seat.take_hashed(contacts)
        self.environment.every(_LOOK, self._look)

    def stop(self, graceful: bool) -> None:
        self.trees.leave(graceful)
        self.membership.stop(graceful)
        self.ring.stop(graceful)
        self.control.stop(graceful)

    def on_unreachable(self, peer: int) -> None:
        self.membership.on_unreachable(peer)
        self.trees.on_unreachable(peer)
        for topic in [topic for topic, home in self._known_homes.items() if home == peer]:
            del self._known_homes[topic]

    def subscribe(self, interest: Interest) -> None:
        if not isinstance(interest, TopicInterest):
            raise TypeError(f"this system knows interests in topics, not {type(interest).__name__}")
        topic = interest.topic
        self._rates[topic] = interest.rate if self._parameters.similarity == "rates" else 1.0
        self._change()
        if self._started:
            self.membership.join(topic)
            if self.ring.ready:
                self.trees.join(topic)

    def unsubscribe(self, interest: Interest) -> None:
        if not isinstance(interest, TopicInterest):
            raise TypeError(f"this system knows interests in topics, not {type(interest).__name__}")
        self._rates.pop(interest.topic, None)
        self._change()
        self.membership.leave(interest.topic)
        self.trees.prune([interest.topic])

    def publish(self, event: Event) -> None:
        if event.topic is None:
            raise TypeError("this system knows topics; the event has none")
        if event.topic in self._rates:
            self.environment.deliver(event)
        data = EventData(
            event=event.number, topic=event.topic, publisher=event.publisher, payload=event.payload
        )
        self._send_home(data, _PATIENCE)

    def gauges(self) -> dict[str, float]:
        relayed = sum([topic not in self._rates for topic in self.trees.branches])
        return {
            "relayed_topics": float(relayed),
            "places_taken": float(self._seat.taken),
            "tree_join_messages": float(self.trees.sent),
            "view_messages": float(self.membership.sent),
        }

    def forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        """What goes to a topic's home goes on."""
        return True

    def deliver(self, key: int, message: Message, origin: Contact, hops: int) -> None:
        """Act as a topic's home (the control overlay's upcall)."""
        if isinstance(message, TreeSearch):
            self.trees.be_home(message)
        elif isinstance(message, EventData):
            if message.publisher != self.environment.peer:
                self.environment.send(message.publisher, RootAddress(topic=message.topic))
            self._disseminate(message, message.hops + hops)

    def neighbour_changed(self, contact: Contact, joined: bool) -> None:
        """The trees look at the control overlay's routes themselves."""

    def _look(self) -> None:
        """Take a place when the views are there; join the trees from it."""
        if self._joins_due:
            self._joins_due = False
            for topic in list(self._rates):
                self.trees.join(topic)
        if self._parameters.placement == "hashed" or self._seat.under_way or not self.control.ready:
            return
        limit = self._parameters.rejoin_changes
        if self.ring.ready and not (limit and self._changes >= limit):
            return
        waited = self.environment.now - self._asked_at
        if self.membership.complete(self._rates) or waited >= self._parameters.view_patience:
            self._changes = 0
            self._seat.take(self._contacts)

    def _settled(self) -> None:
        """Tell the new place, and come to the trees from it."""
        self.trees.leave(graceful=True)
        self._profile = None
        self.membership.tell(self._describe())
        self._joins_due = True

    def _change(self) -> None:
        """Note that the interests are others now."""
        if self._changes == 0:
            self._asked_at = self.environment.now
        self._changes += 1
        self._profile = None
        self.membership.tell(self._describe() if self.ring.ready else None)

    def _describe(self) -> Profile:
        """This peer's interests and place, as others get them."""
        profile = self._profile
        if profile is None:
            self._version += 1
            profile = self._profile = make_profile(
                self.environment.peer,
                self.environment.session,
                self._version,
                self.ring.identifier,
                self._rates,
            )
        return profile

    def _told(self) -> Profile | None:
        return self._describe()

    def _similarity(self, other: Profile) -> float:
        return utility(self._describe(), other)

    def _send_home(self, data: EventData, patience: int) -> None:
        """Send straight to the topic's home if it is known, else by the control overlay, once joined."""
        branch = self.trees.branches.get(data.topic)
        if branch is not None and branch.is_home:
            self._disseminate(data, 0)
            return
        home = self._known_homes.get(data.topic, -1 if branch is None else branch.home)
        if home >= 0 and home != self.environment.peer:
            self.environment.request(
                home,
                Multicast(event=_onward(data, 1)),
                self._parameters.multicast_timeout,
                lambda reply: None,
                lambda: self._find_home(data, home),
            )
        elif self.control.ready or not patience:
            self.control.route(hash_of_topic(data.topic), data)
        else:
            self.environment.set_timer(1.0, lambda: self._send_home(data, patience - 1))

    def _find_home(self, data: EventData, missing: int) -> None:
        """Route the event that the peer known as the home has not confirmed; the home tells who it is."""
        if self._known_homes.get(data.topic) == missing:
            del self._known_homes[data.topic]
        self.control.route(hash_of_topic(data.topic), data)

    def _on_multicast(self, sender: int, message: Multicast) -> RootAddress | None:
        """Confirm an event as the home; who is it no more does not answer."""
        data = message.event
        if data is None or not self.control.ready:
            return None
        if self.control.next_hop(hash_of_topic(data.topic)) is not None:
            self.control.route(hash_of_topic(data.topic), data)
            return None
        self._disseminate(data, data.hops)
        return RootAddress(topic=data.topic)

    def _on_home_address(self, sender: int, message: RootAddress) -> None:
        self._known_homes[message.topic] = sender
        if len(self._known_homes) > _KNOWN_HOMES:
            del self._known_homes[next(iter(self._known_homes))]

    def _on_event(self, sender: int, message: EventData) -> None:
        self.trees.hear(sender)
        self._disseminate(message, message.hops)

    def _disseminate(self, data: EventData, hops: int) -> None:
        """Deliver the event here, once, and send it down the tree."""
        if data.event in self._seen:
            return
        self._seen[data.event] = None
        if len(self._seen) > _REMEMBERED_EVENTS:
            del self._seen[next(iter(self._seen))]
        if data.topic in self._rates and data.publisher != self.environment.peer:
            self.environment.deliver(
                Event(data.event, data.publisher, data.topic, payload=data.payload, hops=hops)
            )
        self.trees.send_down(data.topic, _onward(data, hops + 1))


def _onward(data: EventData, hops: int) -> EventData:
    """The event as it arrives after so many hops; a message that was sent is never changed."""
    return EventData(
        event=data.event, topic=data.topic, publisher=data.publisher, hops=hops, payload=data.payload
    )


def over(kind: OverlayKind) -> System:
    """The system that is Magnet with a control overlay of this kind."""

    def create(environment: Environment, parameters: Any) -> Application:
        return Magnet(environment, parameters, lambda part: kind.create(part, parameters.control))

    control = kind.title.partition(",")[0].replace("The ", "the ", 1)
    return System(
        f"magnet-{kind.name}",
        f"Magnet, controlled by {control}",
        _PAPER,
        parameters_over(kind.parameters),
        create,
    )
