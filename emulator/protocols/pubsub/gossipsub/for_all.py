"""GossipSub as a broadcast: all peers subscribe to one topic when they start, and each message is of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mypy_extensions import mypyc_attr

from emulator.contract.broadcast_service import BroadcastService
from emulator.contract.protocol import Environment, Event, TopicInterest
from emulator.contract.system import System
from emulator.protocols.pubsub.gossipsub.parameters import GossipSubParameters
from emulator.protocols.pubsub.gossipsub.system import GOSSIPSUB, GossipSub
from trellis.v1.gossipsub import TopicMessage

_TOPIC: Final = 0


class _OneTopic(GossipSub):
    """One peer of GossipSub whose application knows no topics."""

    def hand_over(self, message: TopicMessage) -> None:
        event = Event(message.event, message.publisher, payload=message.payload, hops=message.hops)
        self.environment.deliver(event)


@mypyc_attr(allow_interpreted_subclasses=True)
class GossipSubForAll(BroadcastService):
    """One peer, with GossipSub on a channel of its own."""

    def __init__(self, environment: Environment, parameters: GossipSubParameters) -> None:
        super().__init__(environment)
        self._gossipsub = _OneTopic(environment.channel("gossipsub"), parameters)

    def start(self, contacts: Sequence[int]) -> None:
        self._gossipsub.start(contacts)
        self._gossipsub.subscribe(TopicInterest(_TOPIC))

    def stop(self, graceful: bool) -> None:
        self._gossipsub.stop(graceful)

    def publish(self, event: Event) -> None:
        self._gossipsub.publish(Event(event.number, event.publisher, _TOPIC, payload=event.payload))


GOSSIPSUB_FOR_ALL: Final = System(
    name="gossipsub-broadcast",
    title="GossipSub with one topic for all peers",
    paper=GOSSIPSUB.paper,
    parameters=GossipSubParameters,
    create=GossipSubForAll,
    serves="broadcast",
    misfits=GOSSIPSUB.misfits,
    invariants=GOSSIPSUB.invariants,
)
