"""The keys of an experiment file about blocks. Modules that import pydantic are not compiled."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from emulator.files.quantities import Duration
from emulator.protocols.overlays.random_graph.parameters import RandomGraphParameters


class BlockGossipParameters(BaseModel, extra="forbid", frozen=True):
    """The key `system.parameters`."""

    relay: Literal["announce", "push"] = Field("announce", description="announce a block, or send it at once")
    graph: RandomGraphParameters = Field(RandomGraphParameters(degree=8), description="the random graph")


class Blocks(BaseModel, extra="forbid", frozen=True):
    """The key `workload.blocks`."""

    interval: Duration = Field(10.0, gt=0, description="mean time between two blocks in the whole network")
    largest: int = Field(1_000_000, ge=1_000, le=10_000_000, description="bytes; the smallest has 1,000")
