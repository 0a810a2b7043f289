"""The parameters of the small-world overlay."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from emulator.files.quantities import Duration


class SmallWorldParameters(BaseModel):
    """The parameters that all systems over this overlay share."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    routing_table: int = Field(15, ge=3, description="neighbours of a peer, ring neighbours included")
    small_world_draw: Literal["distance", "anew", "candidates"] = Field(
        "distance",
        description="how a small-world link is drawn: a random distance, fixed or drawn anew at each "
        "selection (then equally good friends are taken at random too), or among the known peers",
    )
    view: int = Field(20, ge=2, le=1000, description="peers in the Newscast view")
    period: Duration = Field(1.0, gt=0, description="length of a gossip round")
    stale_after: int = Field(5, ge=2, description="rounds of silence after which a neighbour is dropped")


class SmallWorldRingParameters(SmallWorldParameters):
    """The parameters of the ring alone: all neighbours but the two on the ring are small-world links."""
