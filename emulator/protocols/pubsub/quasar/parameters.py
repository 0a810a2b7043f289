"""The parameters of Quasar, over any overlay."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model, field_validator, model_validator

from emulator.contract.identifiers import BITS
from emulator.files.quantities import Duration


class QuasarParameters(BaseModel):
    """The parameters of Quasar.

    Section 4 has depth and size; docs/systems/quasar.md says where the rest is from.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    overlay: Any = Field(None, description="parameters of the overlay")
    depth: int = Field(3, ge=1, le=16, description="K: levels of an attenuated Bloom filter")
    filter_bytes: int = Field(512, ge=1, le=65_536, description="B: bytes of a level, a power of two")
    hashes: int = Field(4, ge=1, description="bits that an identifier sets in a level")
    period: Duration = Field(10.0, gt=0, description="time between two updates to a neighbour")
    freshness: Duration = Field(
        30.0, gt=0, description="T: a neighbour's filter counts for this long after its last update"
    )
    branch: int = Field(
        0, ge=0, description="copies that a publisher or member sends; 0: one to each neighbour (Algorithm 2)"
    )
    returns: bool = Field(
        True, description="whether a copy may go back to its sender or to a peer in PUB, as Algorithm 2 does"
    )
    ttl: int = Field(32, ge=1, le=1000, description="TTL: relays that a copy may pass from the publisher on")
    drop_duplicates: Literal["members", "all"] = Field(
        "members", description="who drops a copy of an event that it has handled: members, or relays too"
    )
    negation: bool = Field(True, description="whether PUB, the negative information, is heeded (section 2.2)")
    negate_stale: bool = Field(
        True, description="whether a peer that finds a gradient stale or false joins PUB (section 3.4)"
    )

    @field_validator("filter_bytes")
    @classmethod
    def _power_of_two(cls, value: int) -> int:
        if value & (value - 1):
            raise ValueError(f"{value} is no power of two, so bit positions would not be equally likely")
        return value

    @model_validator(mode="after")
    def _fits(self) -> QuasarParameters:
        most = BITS // (8 * self.filter_bytes - 1).bit_length()
        if self.hashes > most:
            raise ValueError(f"hashes ({self.hashes}): an identifier has bits for {most}")
        if self.freshness < self.period:
            raise ValueError(f"freshness ({self.freshness:g} s) is less than period ({self.period:g} s)")
        return self


def parameters_over(overlay: type[BaseModel]) -> type[QuasarParameters]:
    """Return the parameters of Quasar on an overlay that has these parameters, all with defaults."""
    return create_model(
        f"Quasar{overlay.__name__}",
        __base__=QuasarParameters,
        overlay=(overlay, Field(overlay(), description="parameters of the overlay")),
    )
