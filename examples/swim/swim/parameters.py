"""The keys of an experiment file about SWIM. Modules that import pydantic are not compiled."""

from __future__ import annotations

from pydantic import BaseModel, Field

from emulator.files.quantities import Duration


class SwimParameters(BaseModel, extra="forbid", frozen=True):
    """The key `system.parameters`."""

    period: Duration = Field(2.0, gt=0, description="protocol period")
    timeout: Duration = Field(0.8, gt=0, description="time-out of a direct ping, below the period")
    suspicion: Duration = Field(25.0, ge=0, description="time from suspected to failed")


class Nothing(BaseModel, extra="forbid", frozen=True):
    """The key `workload.members`: peers are asked for nothing."""
