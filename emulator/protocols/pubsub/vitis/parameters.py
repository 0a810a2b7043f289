"""The parameters of Vitis and RVR."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from emulator.files.quantities import Duration
from emulator.protocols.overlays.small_world.parameters import SmallWorldParameters


class RendezvousParameters(SmallWorldParameters):
    """The parameters that both systems have."""

    relay_lifetime: int = Field(5, ge=1, description="rounds that a relay link lives without renewal")
    pull_timeout: Duration = Field(
        2.0, gt=0, description="time after which an event is pulled from elsewhere"
    )


class RVRParameters(RendezvousParameters):
    """The parameters of RVR, with the values of section IV.A."""


class VitisParameters(RendezvousParameters):
    """The parameters of Vitis, with the values of section IV.A."""

    friends: int = Field(12, ge=0, description="neighbours chosen by utility; the rest are small-world links")
    gateway_hops: int = Field(5, ge=1, description="d: a gateway serves peers that are fewer hops away")
    links: Literal["both", "outgoing"] = Field(
        "both", description="whether a peer that has this one as neighbour is a neighbour too"
    )
    notify_relays: Literal["path", "neighbours"] = Field(
        "path",
        description="which relay nodes of a topic are notified beside interested neighbours: the next "
        "ones on the relay path, or all neighbours that relay the topic too",
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
