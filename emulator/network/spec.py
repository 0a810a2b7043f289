"""The `network:` part of an experiment file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from emulator.files.quantities import Duration


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class King(_Model):
    """A generated matrix with the statistics of the King measurements (Gummadi et al., 2002)."""

    kind: Literal["king"] = "king"
    hosts: int = Field(1740, ge=2, le=20_000)
    mean_rtt: Duration = Field(0.180, gt=0, le=3600)


class Constant(_Model):
    """The same RTT between every pair."""

    kind: Literal["constant"]
    rtt: Duration = Field(0.100, ge=0, le=3600)


class MatrixFile(_Model):
    """Measured latencies: p2psim's matrix (RTT in microseconds) or topology (one-way ms) format,
    or PlanetLab's (RTT in ms)."""

    kind: Literal["p2psim-matrix", "p2psim-topology", "planetlab"]
    file: Path


Latency = Annotated[King | Constant | MatrixFile, Field(discriminator="kind")]


class NetworkSpec(_Model):
    """The way in which messages travel between peers."""

    latency: Latency = Field(default_factory=King)
    same_host_rtt: Duration = Field(
        0.001, ge=0, le=3600, description="RTT between peers at one host of the matrix"
    )
    jitter: Duration = Field(
        0.0, ge=0, le=3600, description="standard deviation that is added to each one-way delay"
    )
    loss: float = Field(0.0, ge=0, lt=1, description="share of messages that vanish")
    unreachable_after: Duration = Field(
        2.0, gt=0, le=86_400, description="time after which a sender learns that its message reached nobody"
    )
    enforce: Literal["auto", "delay-line", "netem"] = "auto"
