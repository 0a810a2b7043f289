"""The parameters of stores of values."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from emulator.files.quantities import Duration
from emulator.protocols.overlays.kademlia.parameters import KademliaParameters


class ReplicatedParameters(BaseModel):
    """The parameters of a store over any overlay; docs/systems/values.md says where they come from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    overlay: Any = Field(None, description="parameters of the overlay")
    replicas: int = Field(
        6, ge=1, le=32, description="peers that hold a copy of each value: the closest to its key"
    )
    answer_on_the_way: bool = Field(
        True, description="whether a get ends at the first holder that it comes to, not at the root alone"
    )
    timeout: Duration = Field(
        5.0, gt=0, description="time after which an unanswered put or get is routed again"
    )
    tries: int = Field(3, ge=1, le=100, description="times that a put or a get is routed")
    copy_timeout: Duration = Field(2.0, gt=0, description="time that a holder has to answer the root")
    repair: Duration = Field(
        60.0, gt=0, description="time between two looks of a root at the copies of its values"
    )
    reaction: Duration = Field(
        2.0, gt=0, description="time within which such a look follows a change of neighbours"
    )


def parameters_over(overlay: type[BaseModel]) -> type[ReplicatedParameters]:
    """Return the parameters of the store on an overlay that has these parameters, all with defaults."""
    return create_model(
        f"Values{overlay.__name__}",
        __base__=ReplicatedParameters,
        overlay=(overlay, Field(overlay(), description="parameters of the overlay")),
    )


class KademliaStoreParameters(BaseModel):
    """The parameters of Kademlia's own store."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    overlay: KademliaParameters = Field(KademliaParameters(), description="parameters of the overlay")
    republish: Duration = Field(
        3600.0, gt=0, description="time after which a holder stores its copy at the k closest again (2.5)"
    )
    expiry: Duration = Field(
        86_400.0,
        gt=0,
        description="lifetime of a copy, and time after which whoever put it puts it again (2.3)",
    )
    cache: bool = Field(
        True, description="whether a get leaves a copy at the closest peer that it found without one (2.3)"
    )
