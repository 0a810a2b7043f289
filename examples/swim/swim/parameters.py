"""What an experiment file may say of SWIM. Modules that import pydantic are not compiled."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from emulator.files.quantities import Duration


class SwimParameters(BaseModel):
    """The paper's names in brackets."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    period: Duration = Field(2.0, gt=0, description="protocol period (T')")
    timeout: Duration = Field(0.8, gt=0, description="time-out of a direct ping, below the period")
    helpers: int = Field(3, ge=0, description="members that are asked to ping for another one (k)")
    suspicion: Duration = Field(25.0, ge=0, description="time from suspected to failed")
    repeats: float = Field(3.0, gt=0, description="an update is sent this often times log n (lambda)")
    updates: int = Field(30, ge=1, description="updates that ride on a message at most")


class Nothing(BaseModel):
    """The key `workload.members`: peers are asked for nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)
