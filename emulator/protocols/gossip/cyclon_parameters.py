"""The parameters of Cyclon. Modules that import pydantic are not compiled."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, model_validator

from emulator.files.quantities import Duration


class CyclonParameters(BaseModel):
    """docs/systems/cyclon.md says where the defaults come from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    view: int = Field(20, ge=2, le=1000, description="c: peers of the view")
    shuffle: int = Field(8, ge=1, description="l: entries that a shuffle exchanges; at most `view`")
    period: Duration = Field(10.0, gt=0, description="time between two shuffles of a peer")
    walk: int = Field(5, ge=1, le=64, description="steps of the random walks by which a newcomer joins")
    timeout: Duration = Field(2.0, gt=0, description="time after which a shuffle without a reply is given up")

    @model_validator(mode="after")
    def _shuffle_fits(self) -> CyclonParameters:
        if self.shuffle > self.view:
            text = f"shuffle ({self.shuffle}) is more than view ({self.view})"
            raise ValueError(f"{text}. Lower shuffle to {self.view} or less, or raise view")
        return self
