"""The parameters of HyParView. Modules that import pydantic are not compiled."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, model_validator

from emulator.files.quantities import Duration


class HyParViewParameters(BaseModel):
    """The sizes are those of the paper's evaluation; docs/systems/hyparview.md tells of the rest."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    active: int = Field(5, ge=2, le=1000, description="peers of the active view: the fan-out and one more")
    passive: int = Field(30, ge=1, le=10_000, description="peers of the passive view")
    arwl: int = Field(
        6, ge=0, le=64, description="ARWL: steps of the random walk of a join, and of a shuffle"
    )
    prwl: int = Field(
        3,
        ge=0,
        le=64,
        description="PRWL: steps left at which a join enters a passive view on its way; at most `arwl`",
    )
    shuffled_active: int = Field(3, ge=0, description="ka: peers of the active view in a shuffle")
    shuffled_passive: int = Field(4, ge=0, description="kp: peers of the passive view in a shuffle")
    period: Duration = Field(10.0, gt=0, description="time between two shuffles")
    refill: bool = Field(
        True,
        description="whether a free slot is always filled from the passive view; false: only after a failure",
    )
    keepalive: Duration = Field(
        5.0,
        ge=0,
        description="time between two messages that tell neighbours of a failure, as an open connection "
        "does; 0: only who sends to a failed peer notices",
    )
    silent_keepalives: int = Field(
        3, ge=1, description="times that nothing comes over a connection until it is given up"
    )
    timeout: Duration = Field(
        2.0, gt=0, description="time after which a peer asked to be a neighbour is given up"
    )

    @model_validator(mode="after")
    def _walks_fit(self) -> HyParViewParameters:
        if self.prwl > self.arwl:
            text = f"prwl ({self.prwl}) is more than arwl ({self.arwl}): no walk would get there"
            raise ValueError(f"{text}. Lower prwl to {self.arwl} or less, or raise arwl")
        return self
