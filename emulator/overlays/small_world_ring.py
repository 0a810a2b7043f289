"""The small world of Vitis (section III.A) alone: ring and small-world links, no friends, no topics."""

from __future__ import annotations

from trellis.v1.pubsub_pb2 import ProfileExchange

from emulator.gossip.descriptor import Descriptor
from emulator.overlays.small_world import SmallWorld, SmallWorldParameters
from emulator.protocol import Environment


class SmallWorldRingParameters(SmallWorldParameters):
    """All neighbours but the two on the ring are small-world links."""


class SmallWorldRing(SmallWorld):
    """One peer. What it tells of itself never changes while it is up."""

    def __init__(self, environment: Environment, parameters: SmallWorldRingParameters) -> None:
        # The clock makes the profile newer than that of an earlier session.
        version = 1 + int(environment.now * 1000)
        descriptor = Descriptor.make(environment.self_contact.peer, version, {})
        heartbeats = {
            reply: ProfileExchange(reply=reply, profile=descriptor.encoded, revision=version)
            for reply in (False, True)
        }
        super().__init__(
            environment,
            parameters,
            small_world_links=parameters.routing_table - 2,
            own=lambda: descriptor,
            make_profile=heartbeats.__getitem__,
            round_begins=lambda: None,
        )
