"""The `churn:` part of an experiment file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from emulator.files.quantities import Duration


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Static(_Model):
    """All peers join in the join phase and stay."""

    kind: Literal["static"] = "static"


class TraceFile(_Model):
    """Sessions of a trace in the .avt format: `id TAB count TAB start end start end ...` in seconds."""

    kind: Literal["trace"]
    file: Path
    start: Duration = Field(86_400.0, ge=0, description="where in the trace the trial begins")
    until: Duration = Field(
        2_160_000.0,
        gt=0,
        description="where its usable part ends; in the Skype trace 45 h without events follow",
    )
    compress: float = Field(
        60.0, ge=1, le=1e12, description="trace seconds replayed in one second of the trial"
    )


class Skype(_Model):
    """A generator calibrated to the Skype supernodes (Guha, Daswani, Jain, IPTPS 2006).

    Lognormal sessions, Weibull gaps, a daily cycle. Supernodes are more stable than ordinary peers.
    """

    kind: Literal["skype"]
    compress: float = Field(
        60.0, ge=1, le=1e12, description="seconds of the model in one second of the trial"
    )


class Poisson(_Model):
    """Exponential sessions and gaps."""

    kind: Literal["poisson"]
    mean_session: Duration = Field(gt=0)
    mean_gap: Duration = Field(gt=0)


class Pareto(_Model):
    """Heavy-tailed sessions and gaps with the given means."""

    kind: Literal["pareto"]
    mean_session: Duration = Field(gt=0)
    mean_gap: Duration = Field(gt=0)
    shape: float = Field(1.5, ge=1.01, le=100)


Model = Annotated[Static | TraceFile | Skype | Poisson | Pareto, Field(discriminator="kind")]


class FlashCrowd(_Model):
    """The last `peers` of the trial's peers, which join nearly at once and stay."""

    at: Duration = Field(ge=0, description="trial time of the first join")
    peers: int = Field(ge=1, le=200_000)
    within: Duration = Field(1.0, gt=0)


class Crash(_Model):
    """A share of the peers that are up crashes at one moment, and stays away."""

    at: Duration = Field(gt=0, description="trial time")
    share: float = Field(gt=0, le=1)


class ChurnSpec(_Model):
    """When peers are up."""

    model: Model = Field(default_factory=Static)
    graceful: float = Field(
        0.0, ge=0, le=1, description="share of leaves that are announced; the rest are crashes"
    )
    flash_crowd: FlashCrowd | None = None
    crash: Crash | None = None
