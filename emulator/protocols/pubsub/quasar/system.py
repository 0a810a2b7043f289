"""Quasar: publish/subscribe by gradients and directed walks (Wong, Guha, IPTPS 2008), over any membership."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from emulator.contract.protocol import (
    Application,
    Contact,
    Environment,
    Event,
    Interest,
    Membership,
    PubSub,
)
from emulator.contract.recent import Newest
from emulator.contract.system import MembershipKind, OverlayKind, System
from emulator.protocols.pubsub.quasar.bloom import KnownFilters, hashing_of
from emulator.protocols.pubsub.quasar.gradients import Gradients
from emulator.protocols.pubsub.quasar.parameters import QuasarParameters, parameters_over
from emulator.protocols.pubsub.quasar.routing import choose_branches, find_gradient, has_group
from emulator.protocols.pubsub.shared.topics import topic_interest
from trellis.v1.quasar import QuasarEvent

_PAPER: Final = "Wong, Guha: Quasar, IPTPS 2008"
_REMEMBERED_EVENTS: Final = 10_000
_PATIENCE: Final = 10
"""The seconds for which a publication waits for the first neighbour."""
_NOBODY: Final = -1


class Quasar(PubSub):
    """One peer of Quasar."""

    def __init__(
        self,
        environment: Environment,
        parameters: QuasarParameters,
        create: Callable[[Environment], Membership],
    ) -> None:
        """`create` makes this peer's part of the overlay from the environment of its channel."""
        super().__init__(environment)
        self._topics: set[int] = set()
        self._depth = parameters.depth
        self._period = parameters.period
        self._branch = parameters.branch
        self._returns = parameters.returns
        self._ttl = parameters.ttl
        self._relays_drop = parameters.drop_duplicates == "all"
        self._negates = parameters.negation
        self._negates_stale = parameters.negation and parameters.negate_stale
        self._hashing = hashing_of(parameters.filter_bytes, parameters.hashes)
        self._overlay = create(environment.channel("overlay"))
        self._overlay.add_listener(self)
        self._gradients = Gradients(
            environment,
            self._overlay,
            self._hashing,
            self._topics,
            environment.shared(KnownFilters),
            depth=parameters.depth,
            level_bytes=parameters.filter_bytes,
            freshness=parameters.freshness,
        )
        self._seen = Newest(_REMEMBERED_EVENTS)
        """The events that this peer published or got delivered, and those that it relayed if relays drop
        repeats."""
        self._directed = [0] * parameters.depth
        """The number of copies that came here by a gradient, by the gradient's level at the peer before."""
        self._astray = [0] * parameters.depth
        """The number of those copies for which the gradient ends here, because it is false or stale, by
        level."""
        self._recovered = [0] * parameters.depth
        """The number of those copies for which this peer had another gradient, by level."""
        environment.handle(QuasarEvent, self._route)

    def start(self, contacts: Sequence[int]) -> None:
        self._overlay.start(contacts)
        self.environment.every(self._period, self._gradients.update)

    def stop(self, graceful: bool) -> None:
        self._overlay.stop(graceful)
        self._gradients.clear()

    def on_unreachable(self, peer: int) -> None:
        self._gradients.forget(peer)

    def neighbour_changed(self, contact: Contact, joined: bool) -> None:
        """Update gradients at once when a link is new."""
        if joined:
            self._gradients.neighbour_came(contact.peer)
        else:
            self._gradients.neighbour_went(contact.peer)

    def subscribe(self, interest: Interest) -> None:
        self._topics.add(topic_interest(interest).topic)

    def unsubscribe(self, interest: Interest) -> None:
        self._topics.discard(topic_interest(interest).topic)

    def publish(self, event: Event) -> None:
        if event.topic is None:
            raise TypeError("this system knows topics; the event has none")
        self._publish(event, event.topic, _PATIENCE)

    def gauges(self) -> dict[str, float]:
        counts = {"directed": self._directed, "astray": self._astray, "recovered": self._recovered}
        found = self._gradients.gauges()
        for name, numbers in counts.items():
            for level, number in enumerate(numbers):
                found[f"{name}_{level}"] = float(number)
        return found

    def _publish(self, event: Event, topic: int, patience: int) -> None:
        """Send the event in several directions; a peer that has no neighbour yet waits."""
        if not self._gradients.links and patience:
            self.environment.set_timer(1.0, lambda: self._publish(event, topic, patience - 1))
            return
        self._seen.add(event.number)
        own = [self.environment.peer]
        copy = QuasarEvent(event.number, topic, event.publisher, 1, event.payload, own, self._ttl)
        self._spread(copy, _NOBODY)

    def _route(self, sender: int, message: QuasarEvent) -> None:
        """Route a copy of an event (Algorithm 2)."""
        is_member = message.topic in self._topics
        level = message.directed - 1
        if 0 <= level < self._depth:
            self._directed[level] += 1
        if message.event in self._seen:
            return
        if is_member:
            self._seen.add(message.event)
            self._deliver(message)
            negated = [*message.negated, self.environment.peer]
            self._spread(_copy(message, negated, message.ttl, 0), sender)
            return
        if self._relays_drop:
            self._seen.add(message.event)
        if message.ttl > 1:
            self._pass_on(sender, message, level)

    def _pass_on(self, sender: int, message: QuasarEvent, followed: int) -> None:
        """Pass a copy on (lines 10 to 23). It came by a gradient of level `followed`, -1 for none."""
        group = self._hashing.of_group(message.topic)
        surroundings = self._gradients.surroundings()
        negated = message.negated
        is_astray = 0 <= followed < self._depth and not has_group(surroundings, followed, group)
        if is_astray:
            self._astray[followed] += 1
            if self._negates_stale:
                negated = [*negated, self.environment.peer]
        if not surroundings:
            return
        wells = [self._hashing.of_peer(peer) for peer in negated] if self._negates else []
        barred = self._barred(negated)
        pulling = [each for each in surroundings if each[0] not in barred]
        next_hop, level = find_gradient(pulling, self._depth, group, wells)
        if next_hop < 0:
            next_hop = self._step_at_random(sender, barred)
        elif is_astray:
            self._recovered[followed] += 1
        self.environment.send(next_hop, _copy(message, negated, message.ttl - 1, level + 1))

    def _spread(self, copy: QuasarEvent, sender: int) -> None:
        """Send copies to neighbours (lines 7 and 8), as many as the branching factor says (section 3.2)."""
        neighbours = self._onward(sender, self._barred(copy.negated))
        for peer in choose_branches(neighbours, self._branch, self.environment.random):
            self.environment.send(peer, copy)

    def _step_at_random(self, sender: int, barred: Collection[int]) -> int:
        """Return a random next hop (line 22).

        From a dead end a copy goes to any neighbour, also a barred one or the sender.
        """
        choices = self._onward(sender, barred) or list(self._gradients.links)
        return self.environment.random.choice(choices)

    def _onward(self, sender: int, barred: Collection[int]) -> list[int]:
        """Return the neighbours that may be chosen where Algorithm 2 leaves the choice open."""
        return [
            peer for peer in self._gradients.links if peer not in barred and (self._returns or peer != sender)
        ]

    def _barred(self, negated: list[int]) -> list[int]:
        """Return the peers that no copy goes to if copies must not return: all that are named in PUB.

        They are the event's publishers and, by section 3.4, the peers where a gradient was found stale.
        """
        return negated if self._negates and not self._returns else []

    def _deliver(self, message: QuasarEvent) -> None:
        self.environment.deliver(
            Event(
                message.event,
                message.publisher,
                message.topic,
                payload=message.payload,
                hops=message.hops,
            )
        )


def _copy(message: QuasarEvent, negated: list[int], ttl: int, directed: int) -> QuasarEvent:
    """Return the message as it arrives one hop further; a message that was sent is never changed."""
    return QuasarEvent(
        message.event,
        message.topic,
        message.publisher,
        message.hops + 1,
        message.payload,
        negated,
        ttl,
        directed,
    )


def over(kind: OverlayKind | MembershipKind) -> System:
    """Return the system that is Quasar over memberships of this kind."""

    def create(environment: Environment, parameters: Any) -> Application:
        return Quasar(environment, parameters, lambda part: kind.create(part, parameters.overlay))

    return System(
        f"quasar-{kind.name}",
        f"Quasar over {kind.called}",
        _PAPER,
        parameters_over(kind.parameters),
        create,
        takes_identifiers=isinstance(kind, OverlayKind),
        invariants=kind.invariants,
    )
