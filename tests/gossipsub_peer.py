"""One peer of GossipSub, and others that connect to it by hand."""

from __future__ import annotations

from typing import TypeVar

from fake_environment import FakeEnvironment

from emulator.contract.protocol import TopicInterest
from emulator.messages.message import Message
from emulator.protocols.pubsub.gossipsub.parameters import GossipSubParameters
from emulator.protocols.pubsub.gossipsub.signature import sign
from emulator.protocols.pubsub.gossipsub.system import GossipSub
from trellis.v1.gossipsub import ConnectionRequest, TopicMessage

TOPIC = 7
M = TypeVar("M", bound=Message)


def gossipsub(environment: FakeEnvironment, version: str = "1.1", **parameters: object) -> GossipSub:
    """Make a peer that subscribes to the topic."""
    given = {"version": version, **parameters}
    made = GossipSub(environment, GossipSubParameters.model_validate(given))
    made.subscribe(TopicInterest(TOPIC))
    return made


def connect(environment: FakeEnvironment, *peers: int) -> None:
    """Have peers that subscribe to the topic connect to this one."""
    for peer in peers:
        environment.hand_over(peer, ConnectionRequest([TOPIC]))
    environment.fake.empty_outbox()


def message(event: int, publisher: int = 99, hops: int = 1, payload: bytes = b"") -> TopicMessage:
    """Return a message with its signature."""
    return TopicMessage(event, TOPIC, publisher, hops, payload, sign(event, TOPIC, publisher, payload))


def sent(environment: FakeEnvironment, kind: type[M]) -> dict[int, M]:
    """Empty the outbox, and return the messages of a class by receiver, the last to each."""
    return dict(environment.take(kind))
