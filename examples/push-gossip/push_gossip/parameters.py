"""The keys of an experiment file about push gossip. Modules that import pydantic are not compiled."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from emulator.files.quantities import Duration


class PushGossipParameters(BaseModel):
    """The keys of an experiment file under `system.parameters`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fanout: int = Field(4, ge=1, description="random peers that an event is sent on to")
    view: int = Field(20, ge=1, description="peers in the Newscast view")
    round: Duration = Field(1.0, gt=0, description="time between two exchanges of views")
    repair: Duration = Field(10.0, ge=0, description="time between two comparisons of notes; 0 s: never")
