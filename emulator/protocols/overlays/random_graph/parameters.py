"""The parameters of the random graph."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from emulator.files.quantities import Duration


class RandomGraphParameters(BaseModel):
    """The graph and its maintenance; docs/systems/random-graph.md says where the times come from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    degree: int = Field(11, ge=2, le=1000, description="links of a peer, in the mean")
    spread: int = Field(
        0, ge=0, description="each peer draws its own bound from degree - spread to degree + spread"
    )
    graph: Literal["bounded", "sparse"] = Field(
        "bounded",
        description="bounded: a peer has as many links as its bound and refuses others; sparse: it makes "
        "half of them itself and takes all that others make, so that only the mean is constant",
    )
    walk: int = Field(
        6,
        ge=0,
        description="steps over random links from a peer of the view to the one that is asked, in a bounded "
        "graph; 0: peers of the view are asked themselves",
    )
    view: int = Field(20, ge=2, le=1000, description="peers in the Newscast view, from which links are made")
    period: Duration = Field(1.0, gt=0, description="length of a round of gossip and of seeking links")
    heartbeat: Duration = Field(5.0, gt=0, description="time between two heartbeats on a link")
    silent_heartbeats: int = Field(
        3, ge=1, description="heartbeats without a word after which a neighbour is given up"
    )
    request_timeout: Duration = Field(2.0, gt=0, description="time after which a peer asked is given up")

    @model_validator(mode="after")
    def _leaves_links(self) -> RandomGraphParameters:
        if self.spread and self.graph == "sparse":
            raise ValueError("spread is for a bounded graph; in a sparse one degrees differ anyway")
        if self.degree - self.spread < 2:
            raise ValueError(f"degree - spread is {self.degree - self.spread}; a peer needs 2 links")
        return self
