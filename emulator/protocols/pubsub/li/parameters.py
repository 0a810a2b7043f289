"""The parameters of Li's system. The thesis names no value where the description says "open"."""

from __future__ import annotations

from typing import Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from emulator.files.quantities import Duration

_THESIS_SCHEMA: Final = {
    "Attr1": (0.0, 10_000.0),
    "Attr2": (-10_000.0, 10_000.0),
    "Attr3": (0.0, 3_000.0),
    "Attr4": (0.0, 200.0),
}
"""The attributes of the thesis with their domains (table 4.2)."""


class LiParameters(BaseModel):
    """The parameters of Li's system. Defaults are those of chapter 4 where it names one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    overlay: Any = Field(None, description="parameters of the overlay")
    attributes: dict[str, tuple[float, float]] = Field(
        _THESIS_SCHEMA, min_length=1, description="the schema, known to all: name to domain [low, high]"
    )
    capacity: tuple[int, int] = Field(
        (10, 30), description="subscriptions that a leaf holds before it splits: bounds of a peer's draw"
    )
    min_level: int = Field(4, ge=0, description="minl: least tree level that is probed; open")
    max_level: int = Field(10, ge=0, le=32, description="maxl: greatest tree level that is probed")
    select: float = Field(
        0.5, ge=0, le=1, description="p: chance that a node above maxl is probed itself, not its halves; open"
    )
    probing: Literal["multicast", "multicast-throughout", "unicast"] = Field(
        "multicast",
        description="how events probe: publishers by multicast, inner nodes too, or nobody",
    )
    cut_off: float = Field(
        0.1,
        ge=0,
        le=1,
        description="c of the cut-off line y = x + c, as a share of the domain; 0 is no load balancing; open",
    )
    piece: tuple[float, float] = Field(
        (0.5, 1.0), description="bounds of h as shares of c: how long the pieces of a cut range are; open"
    )
    widening: float = Field(
        0.001,
        ge=0,
        le=0.1,
        description="most by which a range on a corner grows at each end, as a share of the domain; open",
    )
    deepest_level: int = Field(
        40, ge=1, le=60, description="tree level at which no leaf splits any more; open"
    )
    absent: Literal["mismatch", "match"] = Field(
        "mismatch", description="what an event without an attribute is to a range over it"
    )
    replicas: int = Field(
        4,
        ge=0,
        le=8,
        description="copies of a tree node besides the one at the peer nearest to its key; open",
    )
    retry: Duration = Field(
        10.0, gt=0, description="silence after which a routed probe or transfer is tried again; open"
    )
    patience: Duration = Field(
        3.0, gt=0, description="silence after which a direct request is tried again or given up; open"
    )
    settling: Duration = Field(
        0.5, gt=0, description="time after a change of neighbours at which copies are compared; open"
    )
    comparison: Duration = Field(
        10.0, gt=0, description="period in which copies are compared with those of one other peer; open"
    )
    renewal: Duration = Field(
        300.0,
        gt=0,
        description="period in which subscribers renew what they subscribe to; it ends after three; open",
    )
    memory: Duration = Field(
        60.0, gt=0, description="how long a probed node and a subscriber remember an event's number; open"
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min_level > self.max_level:
            raise ValueError("min_level is above max_level")
        if not 1 <= self.capacity[0] <= self.capacity[1]:
            raise ValueError("capacity needs 1 <= low <= high")
        if not 0 < self.piece[0] <= self.piece[1] <= 1:
            raise ValueError("piece needs 0 < low <= high <= 1")
        for name, (low, high) in self.attributes.items():
            if not low < high:
                raise ValueError(f"the domain of {name} needs low < high")
        return self


def over(overlay: type[BaseModel]) -> type[LiParameters]:
    """Return the parameters of Li's system on an overlay that has these parameters, all with defaults."""
    return create_model(
        f"Li{overlay.__name__}",
        __base__=LiParameters,
        overlay=(overlay, Field(overlay(), description="parameters of the overlay")),
    )
