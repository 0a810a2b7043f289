"""The key `workload.broadcast` of an experiment file."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from emulator.files.region_names import RegionNames

SMALLEST: int = 32
"""The least bytes of a message."""
LARGEST: int = 2**20
"""The most bytes of a message."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class MessageSizes(_Model):
    """Sizes whose logarithm is uniform."""

    least: int = Field(ge=SMALLEST, le=LARGEST, description="bytes of the smallest messages")
    most: int = Field(ge=SMALLEST, le=LARGEST, description="bytes of the largest messages")


def _one_size(given: Any) -> Any:
    """Accept a number for sizes that are all the same."""
    if not isinstance(given, int):
        return given
    if not SMALLEST <= given <= LARGEST:
        raise ValueError(f"has to be from {SMALLEST} to {LARGEST:,}")
    return {"least": given, "most": given}


class Broadcasts(_Model):
    """Messages that every peer is to get."""

    rate: float = Field(gt=0, le=1e5, description="messages per second of the measure phase, of all senders")
    spacing: Literal["poisson", "even"] = Field(
        "poisson",
        description="poisson: at random times; even: one each 1/rate s, the first after half of that",
    )
    senders: int | None = Field(
        None,
        ge=1,
        le=1_000_000,
        description="peers that send, drawn from those that are up in the whole measure phase; all that are "
        "up at a message's time if left out",
    )
    region: RegionNames | None = Field(None, description="the regions of the senders; all if left out")
    bytes: Annotated[MessageSizes, BeforeValidator(_one_size)] = Field(
        MessageSizes(least=256, most=256),
        description="the size of each message's payload, or {least, most} with a uniform logarithm",
    )
