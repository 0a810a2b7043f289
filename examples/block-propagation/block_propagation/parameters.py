"""What an experiment file may say of blocks. Modules that import pydantic are not compiled."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from emulator.files.quantities import Duration
from emulator.protocols.overlays.random_graph.parameters import RandomGraphParameters


class BlockGossipParameters(BaseModel):
    """The key `system.parameters`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    relay: Literal["announce", "push"] = Field("announce", description="announce a block, or send it at once")
    uplink: float = Field(1e6, gt=0, description="bytes of blocks that a peer can send in a second")
    checking: Duration = Field(0.5, ge=0, description="time to check a megabyte of a block")
    patience: Duration = Field(20.0, gt=0, description="time until another neighbour is asked for a block")
    graph: RandomGraphParameters = Field(RandomGraphParameters(degree=8), description="the random graph")


class Blocks(BaseModel):
    """The key `workload.blocks`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    interval: Duration = Field(10.0, gt=0, description="mean time between two blocks in the whole network")
    smallest: int = Field(1_000, ge=1, le=10_000_000, description="bytes")
    largest: int = Field(1_000_000, ge=1, le=10_000_000, description="bytes")

    @model_validator(mode="after")
    def _in_order(self) -> Blocks:
        if self.smallest > self.largest:
            raise ValueError(f"smallest is {self.smallest}, but largest only {self.largest}")
        return self
