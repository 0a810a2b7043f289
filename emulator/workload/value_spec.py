"""The key `workload.values` of an experiment file."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from emulator.files.region_names import RegionNames

LARGEST: int = 1_000_000
"""The most bytes of a value."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Sizes(_Model):
    """Sizes whose logarithm is uniform."""

    least: int = Field(ge=0, le=LARGEST, description="bytes of the smallest values")
    most: int = Field(ge=0, le=LARGEST, description="bytes of the largest values")


def _one_size(given: Any) -> Any:
    """Accept a number for sizes that are all the same."""
    if not isinstance(given, int):
        return given
    if not 0 <= given <= LARGEST:
        raise ValueError(f"has to be from 0 to {LARGEST:,}")
    return {"least": given, "most": given}


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
    region: RegionNames | None = Field(
        None, description="the regions whose peers get values; all peers put them. All if left out"
    )
    bytes: Annotated[Sizes, BeforeValidator(_one_size)] = Field(
        Sizes(least=1000, most=1000),
        description="the size of each value's payload, or {least, most} with a uniform logarithm",
    )
