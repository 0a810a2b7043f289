"""The key `workload.values` of an experiment file."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, model_validator

LARGEST: int = 1_000_000
"""The most bytes of a value."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Sizes(_Model):
    """Sizes whose logarithm is uniform."""

    least: int = Field(ge=0, le=LARGEST, description="bytes of the smallest values")
    most: int = Field(ge=1, le=LARGEST, description="bytes of the largest values")

    @model_validator(mode="after")
    def _in_order(self) -> Sizes:
        if self.least > self.most:
            raise ValueError(f"least is {self.least}, more than most ({self.most})")
        return self


class Values(_Model):
    """Values that peers put and get by key."""

    count: int = Field(
        ge=1,
        le=1_000_000,
        description="values; each is put once in the second half of the settle phase, by a random peer",
    )
    gets: float = Field(
        gt=0,
        le=1e6,
        description="gets per second of the measure phase in the whole network, by random peers",
    )
    updates: float = Field(
        0.0, ge=0, le=1e6, description="new versions of values per second, likewise, by random peers"
    )
    skew: float = Field(
        0.0,
        ge=0,
        le=5,
        description="gets and updates choose the value of rank r at a rate proportional to r ** -skew",
    )
    bytes: int | Sizes = Field(
        1000, description="the size of each value's payload, or {least, most} with a uniform logarithm"
    )

    @model_validator(mode="after")
    def _bounded(self) -> Values:
        if isinstance(self.bytes, int) and not 0 <= self.bytes <= LARGEST:
            raise ValueError(f"bytes is {self.bytes}. Give 0 to {LARGEST:,}")
        return self
