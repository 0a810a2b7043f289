"""Magnet: publish/subscribe by topic on a ring where similar subscribers stand next to each other.

Girdzijauskas, Chockler, Vigfusson, Tock, Melamed: Magnet: Practical Subscription Clustering for
Internet-Scale Publish/Subscribe, DEBS 2010. With `placement: hashed` it is the paper's strawman: the same
trees on a ring of hashed identifiers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from emulator.contract.identifiers import ClockwiseRing
from emulator.contract.invariants import Invariant
from emulator.contract.protocol import (
    Application,
    Contact,
    Environment,
    Event,
    Interest,
    Message,
    Overlay,
    PubSub,
)
from emulator.contract.system import OverlayKind, System
from emulator.protocols.gossip.profiles import make_profile, utility
from emulator.protocols.overlays.oscar.overlay import OSCAR_RING, Oscar
from emulator.protocols.pubsub.magnet.membership import InterestMembership
from emulator.protocols.pubsub.magnet.parameters import MagnetParameters, parameters_over
from emulator.protocols.pubsub.magnet.settling import Seat
from emulator.protocols.pubsub.magnet.trees import PathTrees
from emulator.protocols.pubsub.shared.home_publishing import NOBODY, HomePublishing
from emulator.protocols.pubsub.shared.topics import topic_interest
from trellis.v1.magnet import TreeSearch
from trellis.v1.overlay import Profile
from trellis.v1.pubsub import EventData

_PAPER: Final = "Girdzijauskas, Chockler, Vigfusson, Tock, Melamed: Magnet, DEBS 2010"
_LOOK: Final = 1.0
"""The seconds between two checks whether the peer is to take a place."""


class Magnet(PubSub):
    """One peer of Magnet."""

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
            profile=self._describe if parameters.bias == "interests" else None,
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
        self._publishing = HomePublishing(
            environment,
            self.control,
            parameters.multicast_timeout,
            self._rates.keys(),
            self._home_in_tree,
            self._send_down,
        )
        self.trees = PathTrees(
            environment,
            self.ring,
            self.control,
            parameters,
            self._rates.keys(),
            self.membership.subscriber,
            self._publishing.has,
        )
        self._seat = Seat(environment, self.ring, self.membership, self._describe, self._settled)
        self.control.carry(self, TreeSearch, EventData)
        self._contacts: Sequence[int] = ()
        self._started = False
        self._joins_due = False
        self._asked_at = 0.0
        """The time at which the peer began to wait for views (s)."""
        self._changes = 0
        """The number of interests that changed since the peer took its place."""
        environment.handle(EventData, self._on_event)

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
        self._publishing.on_unreachable(peer)

    def subscribe(self, interest: Interest) -> None:
        asked = topic_interest(interest)
        topic = asked.topic
        self._rates[topic] = asked.rate if self._parameters.similarity == "rates" else 1.0
        self._change()
        if self._started:
            self.membership.join(topic)
            if self.ring.ready:
                self.trees.join(topic)

    def unsubscribe(self, interest: Interest) -> None:
        topic = topic_interest(interest).topic
        self._rates.pop(topic, None)
        self._change()
        self.membership.leave(topic)
        self.trees.prune([topic])

    def publish(self, event: Event) -> None:
        self._publishing.publish(event)

    def gauges(self) -> dict[str, float]:
        relayed = sum([topic not in self._rates for topic in self.trees.branches])
        return {
            "relayed_topics": float(relayed),
            "places_taken": float(self._seat.taken),
            "tree_join_messages": float(self.trees.sent),
            "view_messages": float(self.membership.sent),
        }

    def forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        """Let what goes to a topic's home go on."""
        return True

    def deliver(self, key: int, message: Message, origin: Contact, hops: int) -> None:
        """Act as a topic's home (the control overlay's upcall)."""
        if isinstance(message, TreeSearch):
            self.trees.be_home(message)
        elif isinstance(message, EventData):
            self._publishing.be_home(message, hops)

    def neighbour_changed(self, contact: Contact, joined: bool) -> None:
        """Give up at once the topics whose home is the neighbour now."""
        self.trees.upkeep.check_homes()

    def _look(self) -> None:
        """Take a place when the views have come, and join the trees from there."""
        if self._joins_due:
            self._joins_due = False
            for topic in list(self._rates):
                self.trees.join(topic)
        if self._parameters.placement == "hashed" or self._seat.under_way:
            return
        if not self.control.ready:
            self._asked_at = self.environment.now
            return
        limit = self._parameters.rejoin_changes
        if self.ring.ready and not (limit and self._changes >= limit):
            return
        waited = self.environment.now - self._asked_at
        if self.membership.complete(self._rates) or waited >= self._parameters.view_patience:
            self._changes = 0
            self._seat.take(self._contacts)

    def _settled(self) -> None:
        """Tell others the new place, and join the trees from there."""
        self.trees.leave(graceful=True)
        self._profile = None
        self.membership.tell(self._describe())
        self._joins_due = True

    def _change(self) -> None:
        """Note that the peer's interests have changed."""
        if self._changes == 0:
            self._asked_at = self.environment.now
        self._changes += 1
        self._profile = None
        self.membership.tell(self._describe() if self.ring.ready else None)

    def _describe(self) -> Profile:
        """Return this peer's interests and place, as others get them."""
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

    def _similarity(self, other: Profile) -> float:
        return utility(self._describe(), other)

    def _home_in_tree(self, topic: int) -> int:
        """Return the topic's home, as its tree tells a peer that is in it."""
        branch = self.trees.branches.get(topic)
        if branch is None:
            return NOBODY
        own = self.environment.peer
        return NOBODY if branch.home == own and not branch.is_home else branch.home

    def _on_event(self, sender: int, message: EventData) -> None:
        self.trees.hear(sender)
        self._publishing.disseminate(message, message.hops, sender)

    def _send_down(self, data: EventData, sender: int) -> None:
        self.trees.send_down(data.topic, data)


_TREES: Final = Invariant(
    "trees_have_no_loop",
    "No peer is its own ancestor in the tree of a topic (Magnet, section 3.3).",
    "emulator.protocols.pubsub.magnet.tree_invariant:broken",
)


def over(kind: OverlayKind) -> System:
    """Return the system that is Magnet with a control overlay of this kind."""

    def create(environment: Environment, parameters: Any) -> Application:
        return Magnet(environment, parameters, lambda part: kind.create(part, parameters.control))

    return System(
        f"magnet-{kind.name}",
        f"Magnet, controlled by {kind.called}",
        _PAPER,
        parameters_over(kind.parameters),
        create,
        takes_identifiers=True,
        invariants=(*dict.fromkeys((*kind.invariants, OSCAR_RING)), _TREES),
    )
