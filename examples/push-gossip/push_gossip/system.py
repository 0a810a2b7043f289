"""Push gossip, also called rumour mongering (Demers et al., PODC 1987; Eugster et al., IEEE Computer 2004).

A peer that hears of an event for the first time sends it to a few random peers, once: it is infected and
dies. Everybody hears of every event, whoever asked for it. Now and then a peer compares notes with another
one (anti-entropy), so that the few who were missed get the event too.
"""

from __future__ import annotations

from collections.abc import Sequence

from emulator.contract.protocol import Environment, Event, Interest, PubSub, TopicInterest
from emulator.contract.system import System
from emulator.protocols.gossip.newscast import Newscast
from push_gossip.messages import Digest, Rumour
from push_gossip.parameters import PushGossipParameters
from trellis.v1.overlay import Profile


class PushGossip(PubSub):
    """One peer."""

    def __init__(self, environment: Environment, parameters: PushGossipParameters) -> None:
        super().__init__(environment)
        self.fanout = parameters.fanout
        self.repair = parameters.repair
        self.membership = Newscast(
            environment.channel("newscast"), self.profile, view_size=parameters.view, period=parameters.round
        )
        self.topics: set[int] = set()
        self.rumours: dict[int, Rumour] = {}
        """All that this peer has heard of, by event, as it sends them on."""
        self.heard = 0
        """The same as a bit set."""
        environment.handle(Rumour, self.on_rumour)
        environment.handle(Digest, self.on_digest)

    def profile(self) -> Profile:
        """Return what Newscast tells others of this peer."""
        return Profile(peer=self.environment.peer, session=self.environment.session)

    def start(self, contacts: Sequence[int]) -> None:
        self.membership.start(contacts)
        if self.repair > 0:
            self.environment.every(self.repair, self.compare)

    def stop(self, graceful: bool) -> None:
        self.membership.stop(graceful)

    def subscribe(self, interest: Interest) -> None:
        assert isinstance(interest, TopicInterest)
        self.topics.add(interest.topic)

    def unsubscribe(self, interest: Interest) -> None:
        assert isinstance(interest, TopicInterest)
        self.topics.discard(interest.topic)

    def publish(self, event: Event) -> None:
        assert event.topic is not None
        self.spread(Rumour(event.number, event.topic, event.publisher, 1, event.payload))

    def on_rumour(self, sender: int, rumour: Rumour) -> None:
        """Deliver and send on what is new; later copies end here."""
        if rumour.event in self.rumours:
            return
        if rumour.topic in self.topics:
            self.environment.deliver(
                Event(rumour.event, rumour.publisher, rumour.topic, payload=rumour.payload, hops=rumour.hops)
            )
        self.spread(Rumour(rumour.event, rumour.topic, rumour.publisher, rumour.hops + 1, rumour.payload))

    def spread(self, rumour: Rumour) -> None:
        """Remember the rumour and send it to `fanout` random peers."""
        self.rumours[rumour.event] = rumour
        self.heard |= 1 << rumour.event
        for peer in self.membership.sample(self.fanout):
            self.environment.send(peer, rumour)

    def compare(self) -> None:
        """Ask a random peer for what this one has missed."""
        for peer in self.membership.sample(1):
            self.environment.send(peer, Digest(self.heard))

    def on_digest(self, sender: int, digest: Digest) -> None:
        """Send what the other peer has missed."""
        if self.heard & ~digest.events:
            for event, rumour in self.rumours.items():
                if not digest.events >> event & 1:
                    self.environment.send(sender, rumour)


PUSH_GOSSIP = System(
    "push-gossip", "Push gossip with repair", "Demers et al., PODC 1987", PushGossipParameters, PushGossip
)
