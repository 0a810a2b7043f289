"""The parameters of Kyra. The paper names no values."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from emulator.files.quantities import Duration
from emulator.protocols.overlays.cliques.parameters import CliqueParameters
from emulator.protocols.pubsub.content.parameters import FilterParameters

Bounds = list[tuple[float, float]]
"""The bounds of a box: (low, high) for each attribute in the order of names. A domain's end means no end."""


class KyraLayout(BaseModel):
    """The parts that are laid out before the start, instead of being found by the servers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    parts: int = Field(1, ge=1, description="consecutive zones that one tree is for")
    zones: list[Bounds] = Field(min_length=1, description="in the order in which cliques share them")
    parents: list[dict[int, int]] | None = Field(
        None, description="of each tree: server to parent, -1 for the root; left out: trees grow"
    )


class KyraParameters(FilterParameters):
    """The parameters of Kyra. Their defaults are the setting of docs/systems/kyra.md."""

    cliques: CliqueParameters = Field(CliqueParameters(), description="parameters of the clique overlay")
    trees: int | None = Field(
        None, ge=1, le=1000, description="T; left out: the size of the largest clique when zones are drawn"
    )
    spread: Literal["direct", "tree"] = Field(
        "direct",
        description="how a proxy sends to those of its clique that want an event: straight, or over a tree",
    )
    zones: Literal["rates", "plan"] = Field(
        "rates",
        description="drawn by the rates of events that servers saw, or laid out by the plan's events",
    )
    grown: Literal["run-time", "spanning"] = Field(
        "run-time", description="trees grow by the servers' measurements, or are laid out as spanning trees"
    )
    formation: Duration = Field(
        60.0,
        ge=0,
        description="time after which the first leader draws zones, if cliques go on changing; open",
    )
    balance: float = Field(
        1.5, ge=1, description="load of the busiest zone over the mean above which zones are drawn anew"
    )
    notice: Duration = Field(10.0, gt=0, description="from the drawing of zones until events use them; open")
    report: Duration = Field(
        5.0, gt=0, description="period in which servers tell their leader of events; open"
    )
    layout: KyraLayout | None = Field(None, description="zones and trees that were laid out")

    @model_validator(mode="after")
    def _sound(self) -> Self:
        if self.grown == "spanning" and (self.zones != "plan" or self.cliques.formed != "hac"):
            raise ValueError("grown: spanning needs zones: plan and cliques.formed: hac, for trees that stay")
        for zone in self.layout.zones if self.layout is not None else ():
            if len(zone) != len(self.attributes):
                raise ValueError(f"a zone has {len(zone)} attributes, not {len(self.attributes)}")
        return self
