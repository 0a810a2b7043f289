"""One peer of OPT, and the profile of another."""

from __future__ import annotations

from collections.abc import Sequence

from fake_environment import FakeEnvironment

from emulator.contract.protocol import TopicInterest
from emulator.protocols.gossip.profiles import make_profile
from emulator.protocols.pubsub.opt.parameters import OptParameters
from emulator.protocols.pubsub.opt.system import Opt
from trellis.v1.overlay import Profile


def profile(peer: int, *topics: int) -> Profile:
    return make_profile(peer, 0, 1, 0, dict.fromkeys(topics, 1.0))


def opt(environment: FakeEnvironment, topics: Sequence[int], **parameters: object) -> Opt:
    made = Opt(environment, OptParameters.model_validate(parameters))
    for topic in topics:
        made.subscribe(TopicInterest(topic))
    return made
