"""The parameters of OSCAR."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from emulator.files.quantities import Duration


class RingParameters(BaseModel):
    """The parameters of the ring.

    The papers give no times; docs/systems/oscar.md says where these come from.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    long_links: int = Field(17, ge=1, description="long links of a peer")
    successors: int = Field(8, ge=2, description="next peers on the ring that a peer knows")
    samples: int = Field(10, ge=1, description="random walks for each median")
    period: Duration = Field(1.0, gt=0, description="time between two looks at the successor")
    link_period: Duration = Field(15.0, gt=0, description="time between two looks at a long link")
    rewire: Duration = Field(
        30.0,
        gt=0,
        description="time after which a peer that has joined, or whose surroundings moved, samples",
    )
    turnover: float = Field(
        0.5, gt=0, le=1, description="share of the successors that has changed when the surroundings moved"
    )
    timeout: Duration = Field(2.0, gt=0, description="time that a peer, or a walk, has to answer")


class OscarParameters(RingParameters):
    """The parameters of a ring whose peers do not choose their places."""

    identifiers: Literal["hashed", "skewed"] = Field(
        "hashed", description="where peers stand: uniformly, or with the logarithm uniform"
    )
