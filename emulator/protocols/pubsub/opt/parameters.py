"""The parameters of OPT."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from emulator.contract.workload import Trial
from emulator.files.quantities import Duration


class OptParameters(BaseModel):
    """The parameters of SpiderCast's coverage; docs/systems/opt.md says where the values come from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    greedy: int = Field(3, ge=0, description="K_g: neighbours in each topic that greedy choice seeks")
    random: int = Field(1, ge=0, description="K_r: neighbours in each topic that random choice seeks")
    degree: int = Field(
        0, ge=0, description="most links of a peer, whoever asked for them: a full peer refuses; 0: no bound"
    )
    knowledge: Literal["gossip", "full"] = Field(
        "gossip",
        description="how a peer learns of others: by gossip, or from a directory at one peer that knows all",
    )
    directory: int = Field(0, ge=0, description="the number of the peer that keeps the directory")
    view: int = Field(20, ge=2, le=1000, description="peers in the Newscast view")
    known: int = Field(500, ge=1, description="peers with a common topic that one remembers from gossip")
    period: Duration = Field(1.0, gt=0, description="length of a round of gossip and of choosing")
    stale_after: int = Field(
        5,
        ge=2,
        description="rounds of silence after which a neighbour is dropped, and after which the directory "
        "counts a peer as gone",
    )
    retry: Duration = Field(
        10.0, gt=0, description="time for which a peer that refused or did not answer is not asked again"
    )
    request_timeout: Duration = Field(2.0, gt=0, description="time after which a peer asked is given up")
    pull_timeout: Duration = Field(
        2.0, gt=0, description="time after which an event is pulled from elsewhere"
    )

    @model_validator(mode="after")
    def _leaves_links(self) -> OptParameters:
        if self.greedy == self.random == 0:
            raise ValueError("greedy and random are both 0, so nobody would seek a link")
        return self


def misfits(parameters: OptParameters, trial: Trial, round_trips: object) -> list[tuple[str, str]]:
    """Return what does not fit this number of peers, as `System.misfits` does."""
    if parameters.knowledge == "full" and parameters.directory >= trial.peers:
        last = trial.peers - 1
        return [("directory", f"is {parameters.directory}, but the peers are numbered from 0 to {last}")]
    return []
