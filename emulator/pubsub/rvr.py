"""RVR: rendezvous routing without regard to interests, the first baseline of Vitis (section IV).

Equivalent to Scribe or Bayeux with a fixed node degree: every link serves routing, and each
subscriber joins the tree of each of its topics on the path to the topic's rendezvous node. To be
comparable it uses the same peer sampling, the same T-Man and the same dissemination.
"""

from __future__ import annotations

from trellis.v1.pubsub_pb2 import ProfileExchange

from emulator.protocol import Environment
from emulator.pubsub.rendezvous import RendezvousParameters, RendezvousPubSub


class RVRParameters(RendezvousParameters):
    """RVR with the values of section IV.A."""


class RVR(RendezvousPubSub):
    """One peer."""

    def __init__(self, environment: Environment, parameters: RVRParameters) -> None:
        super().__init__(environment, parameters, parameters.routing_table - 2)
        self._profiles: dict[bool, ProfileExchange] = {}

    def gauges(self) -> dict[str, float]:
        return super().gauges() | {"gateway_topics": float(len(self._rates))}

    def _round(self) -> None:
        self._relays.refresh(self._descriptor.topic_set)

    def _make_profile(self, reply: bool) -> ProfileExchange:
        own = self._descriptor
        profile = self._profiles.get(reply)
        if profile is None or profile.revision != own.version:
            profile = self._profiles[reply] = ProfileExchange(
                reply=reply, profile=own.encoded, revision=own.version
            )
        return profile

    def _targets(self, topic: int) -> set[int]:
        return self._relays.links(topic)
