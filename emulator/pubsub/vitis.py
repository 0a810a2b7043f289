"""Vitis: gossip clusters and rendezvous routing (Rahimian et al., IPDPS 2011)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field, model_validator
from trellis.v1.pubsub_pb2 import ProfileExchange

from emulator.overlays.small_world import Link
from emulator.protocol import Contact, Environment
from emulator.pubsub.gateways import GatewayElection
from emulator.pubsub.rendezvous import RendezvousParameters, RendezvousPubSub

_PROPOSALS_LIVE = 2.5
"""Rounds after its last profile in which a neighbour's proposals count."""


class VitisParameters(RendezvousParameters):
    """Vitis with the values of section IV.A."""

    friends: int = Field(12, ge=0, description="neighbours chosen by utility; the rest are small-world links")
    gateway_hops: int = Field(5, ge=1, description="d: a gateway serves peers that are fewer hops away")
    links: Literal["both", "outgoing"] = Field(
        "both", description="whether a peer that has this one as neighbour is a neighbour too"
    )

    @model_validator(mode="before")
    @classmethod
    def _friends_fill_the_table(cls, given: Any) -> Any:
        if isinstance(given, dict) and "friends" not in given and isinstance(given.get("routing_table"), int):
            return given | {"friends": max(0, given["routing_table"] - 3)}
        return given

    @model_validator(mode="after")
    def _leaves_room_for_the_ring(self) -> VitisParameters:
        if self.friends > self.routing_table - 2:
            raise ValueError(
                f"friends ({self.friends}) must leave room for the two ring neighbours "
                f"in routing_table ({self.routing_table})"
            )
        return self


class Vitis(RendezvousPubSub):
    """One peer: it floods events in its clusters and relays between them."""

    def __init__(self, environment: Environment, parameters: VitisParameters) -> None:
        super().__init__(environment, parameters, parameters.routing_table - 2 - parameters.friends)
        self._both = parameters.links == "both"
        self._proposals_live = _PROPOSALS_LIVE * parameters.period
        self._election = GatewayElection(self._peer, parameters.gateway_hops)
        # Beyond those of an earlier life, which a neighbour may still hold.
        self._revision = int(environment.now * 1000)
        self._profiles: dict[bool, ProfileExchange] = {}

    def start(self, bootstrap: Sequence[Contact]) -> None:
        self._update_profile()
        super().start(bootstrap)

    def gauges(self) -> dict[str, float]:
        return super().gauges() | {"gateway_topics": float(self._election.gateway_topics.bit_count())}

    def _links(self) -> dict[int, Link]:
        return self._overlay.links() if self._both else self._overlay.table

    def _round(self) -> None:
        """Algorithm 5, with the lookups of its line 21."""
        self._update_profile()
        self._relays.refresh(self._election.gateway_topics)

    def _update_profile(self) -> None:
        oldest = self._environment.now - self._proposals_live
        if self._election.update(self._descriptor, self._links(), oldest):
            self._revision += 1
            self._profiles.clear()

    def _make_profile(self, reply: bool) -> ProfileExchange:
        if self._election.own is not self._descriptor:
            self._update_profile()
        profile = self._profiles.get(reply)
        if profile is None:
            profile = self._profiles[reply] = ProfileExchange(
                reply=reply,
                profile=self._descriptor.encoded,
                gateways=self._election.gateways,
                parents=self._election.parents,
                hops=self._election.hops,
                revision=self._revision,
            )
        return profile

    def _targets(self, topic: int) -> set[int]:
        """Section III.C: the interested neighbours, and the neighbours on the topic's relay paths."""
        targets = self._relays.links(topic)
        for peer, link in self._links().items():
            if link.descriptor.topic_set >> topic & 1:
                targets.add(peer)
        return targets
