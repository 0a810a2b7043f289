"""The `churn:` part of an experiment file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Union

from pydantic import BaseModel, ConfigDict, Field

from emulator.churn.model import ChurnModel
from emulator.churn.models import Pareto, Poisson, Skype, Static, TraceFile
from emulator.contract.package_models import kinds_of_packages
from emulator.files.quantities import Duration, Share
from emulator.files.region_names import RegionNames


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


OWN_MODELS = (Static, TraceFile, Skype, Poisson, Pareto)
OWN_KINDS = ("static", "trace", "skype", "poisson", "pareto")

if TYPE_CHECKING:
    Model = ChurnModel
else:
    _MODELS = (*OWN_MODELS, *kinds_of_packages("churn", ChurnModel, OWN_KINDS))
    Model = Annotated[Union[_MODELS], Field(discriminator="kind")]  # noqa: UP007


class FlashCrowd(_Model):
    """The last `peers` of the trial's peers, which join nearly at once and stay."""

    at: Duration = Field(ge=0, description="trial time of the first join")
    peers: int = Field(ge=1, le=200_000, description="how many peers join")
    within: Duration = Field(1.0, gt=0, description="how long the joins take, at random times")


class Crash(_Model):
    """A share of the peers that are up crashes at one moment, and stays away."""

    at: Duration = Field(gt=0, description="trial time")
    share: Share = Field(gt=0, le=1, description="share of the peers that are up")
    region: RegionNames | None = Field(None, description="the regions whose peers they are; all if left out")


class ChurnSpec(_Model):
    """The churn of an experiment: when its peers are up."""

    model: Model = Field(default_factory=Static)
    graceful: Share = Field(
        0.0, ge=0, le=1, description="share of leaves that are announced; the rest are crashes"
    )
    region: RegionNames | None = Field(
        None, description="the regions whose peers come and go; all others join once and stay"
    )
    flash_crowd: FlashCrowd | None = None
    crash: Crash | None = None
