"""OPT: an overlay of each topic, the second baseline of Vitis (section IV), by SpiderCast's coverage.

Chockler, Melamed, Tock, Vitenberg: SpiderCast, DEBS 2007. Neighbours are chosen so that few links connect a
peer to others in all of its topics; events flood among a topic's subscribers, and nobody relays. To be
comparable, peer sampling and dissemination are those of Vitis and RVR.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from emulator.contract.protocol import Environment, Event, Interest, PubSub
from emulator.contract.system import System
from emulator.protocols.gossip.profiles import make_profile
from emulator.protocols.gossip.view_invariant import VIEWS
from emulator.protocols.pubsub.opt.directory import FullKnowledge
from emulator.protocols.pubsub.opt.knowledge import GossipKnowledge, Knowledge
from emulator.protocols.pubsub.opt.links import Links
from emulator.protocols.pubsub.opt.parameters import OptParameters
from emulator.protocols.pubsub.shared.dissemination import Dissemination
from emulator.protocols.pubsub.shared.topics import topic_interest
from trellis.v1.overlay import Goodbye, Profile
from trellis.v1.pubsub import EventData

_JOIN_ROUNDS: Final = 10
"""A publication waits this many rounds for the first neighbour in its topic."""


class Opt(PubSub):
    """One peer of OPT."""

    def __init__(self, environment: Environment, parameters: OptParameters) -> None:
        super().__init__(environment)
        self._period = parameters.period
        self._rates: dict[int, float] = {}
        self._profile: Profile | None = None
        self._version = 0
        self._knowledge = self._make_knowledge(parameters)
        self._links = Links(environment, parameters, self._own, self._knowledge)
        self._dissemination = Dissemination(
            environment,
            targets=self._targets,
            interested=self._is_interested,
            pull_timeout=parameters.pull_timeout,
        )
        environment.handle(Goodbye, self._on_goodbye)

    def start(self, contacts: Sequence[int]) -> None:
        self._describe()
        self._knowledge.start(contacts)
        self.environment.every(self._period, self._round)

    def stop(self, graceful: bool) -> None:
        if graceful:
            goodbye = Goodbye()
            for peer in self._links.links:
                self.environment.send(peer, goodbye)
        self._links.clear()
        self._knowledge.stop(graceful)

    def on_unreachable(self, peer: int) -> None:
        self._links.drop(peer)
        self._knowledge.forget(peer)
        self._dissemination.on_unreachable(peer)

    def subscribe(self, interest: Interest) -> None:
        asked = topic_interest(interest)
        self._rates[asked.topic] = asked.rate
        self._describe()

    def unsubscribe(self, interest: Interest) -> None:
        self._rates.pop(topic_interest(interest).topic, None)
        self._describe()

    def publish(self, event: Event) -> None:
        if event.topic is None:
            raise TypeError("this system knows topics; the event has none")
        data = EventData(event.number, event.topic, event.publisher, payload=event.payload)
        self._publish(data, _JOIN_ROUNDS)

    def gauges(self) -> dict[str, float]:
        return {"uncovered_topics": float(self._links.uncovered().bit_count())}

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return {"topic": list(self._links.links)}

    def _make_knowledge(self, parameters: OptParameters) -> Knowledge:
        if parameters.knowledge == "full":
            return FullKnowledge(
                self.environment,
                self._own,
                directory=parameters.directory,
                lifetime=parameters.stale_after * parameters.period,
                timeout=parameters.request_timeout,
            )
        return GossipKnowledge(
            self.environment,
            self._own,
            view_size=parameters.view,
            period=parameters.period,
            most=parameters.known,
        )

    def _own(self) -> Profile:
        """Return this peer's profile, as others get it."""
        profile = self._profile
        if profile is None:
            self._version += 1
            peer, session = self.environment.peer, self.environment.session
            profile = self._profile = make_profile(peer, session, self._version, 0, self._rates)
        return profile

    def _describe(self) -> None:
        self._profile = None
        self._links.describe()
        self._knowledge.describe()

    def _round(self) -> None:
        self._knowledge.learn(self._links.seek)
        self._links.beat()

    def _publish(self, data: EventData, patience: int) -> None:
        """Spread the event; a peer that knows nobody in the topic yet waits up to `patience` rounds."""
        if patience and not any(True for _ in self._targets(data.topic)):
            self.environment.set_timer(self._period, lambda: self._publish(data, patience - 1))
        else:
            self._dissemination.publish(data)

    def _targets(self, topic: int) -> Iterable[int]:
        bit = 1 << topic
        return [peer for peer, link in self._links.links.items() if link.profile.topics & bit]

    def _is_interested(self, topic: int) -> bool:
        return topic in self._rates

    def _on_goodbye(self, sender: int, message: Goodbye) -> None:
        self.environment.report_gone(sender)


OPT: Final = System(
    name="opt",
    title="OPT, an overlay of each topic (baseline of Vitis)",
    paper="Chockler, Melamed, Tock, Vitenberg: SpiderCast, DEBS 2007; Rahimian et al.: Vitis, IPDPS 2011",
    parameters=OptParameters,
    create=Opt,
    misfits="emulator.protocols.pubsub.opt.parameters:misfits",
    invariants=(VIEWS,),
)
