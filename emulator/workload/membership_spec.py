"""The key `workload.membership` of an experiment file."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Members(BaseModel):
    """Members that know who of them is up. They are asked for nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    observers: int | None = Field(
        None,
        ge=1,
        le=1_000_000,
        description="random members that tell of each change of their views; the others tell only of what "
        "they found out themselves. All tell if left out",
    )
