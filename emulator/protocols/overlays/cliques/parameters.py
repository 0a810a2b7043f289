"""The parameters of the clique overlay. The paper names no values."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from emulator.files.quantities import Duration


class CliqueParameters(BaseModel):
    """The parameters of the clique overlay. Their defaults are the setting of docs/systems/cliques.md."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    diameter: Duration = Field(0.15, gt=0, description="greatest round-trip time between members; open")
    size: int = Field(20, ge=2, le=200, description="most members of a clique; open")
    minimum: int = Field(
        3, ge=1, description="members below which a clique joins the nearest one with room, however far"
    )
    formed: Literal["run-time", "hac"] = Field(
        "run-time", description="by the servers themselves, or laid out by the paper's algorithm (figure 5)"
    )
    ping: Duration = Field(1.0, gt=0, description="period in which a server pings one of its mates; open")
    gossip: Duration = Field(3.0, gt=0, description="period of an exchange of directories; open")
    tending: Duration = Field(
        4.0, gt=0, description="period in which a leader looks for a clique to merge or exchange with; open"
    )
    near: int = Field(5, ge=1, description="cliques all members of which a newcomer pings")
    probes: int = Field(64, ge=1, description="most cliques one member of which it pings; open")
    patience: Duration = Field(1.5, gt=0, description="silence after which a request has failed; open")
    expiry: Duration = Field(
        40.0, gt=0, description="a clique whose leader said nothing for so long is forgotten; open"
    )
    given: list[list[int]] | None = Field(None, description="the cliques, laid out: the peers of each")

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.minimum > self.size:
            raise ValueError(
                f"minimum is {self.minimum}, but a clique has at most {self.size} members (size)"
            )
        members = [peer for clique in self.given or () for peer in clique]
        if len(set(members)) < len(members):
            raise ValueError("given has a peer in two cliques")
        return self
