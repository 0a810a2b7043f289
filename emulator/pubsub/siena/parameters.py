"""What can be chosen of filter-based routing."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from emulator.quantities import Duration


def check_domains(domains: dict[str, tuple[float, float]]) -> None:
    """Raises ValueError for an empty domain."""
    for name, (low, high) in domains.items():
        if not low < high:
            raise ValueError(f"the domain of {name} needs low < high")


class SienaParameters(BaseModel):
    """Siena names no times."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    attributes: dict[str, tuple[float, float]] = Field(
        {"a1": (0.0, 1000.0)}, min_length=1, description="known to all: name to domain [low, high]"
    )
    tree: Literal["minimum-spanning", "shortest-path"] = Field(
        "minimum-spanning", description="the tree over all servers, laid out by their round-trip times"
    )
    beat: Duration = Field(1.0, gt=0, description="period in which a server asks its parent whether it is up")
    patience: Duration = Field(1.0, gt=0, description="silence after which a request is made again; open")
    memory: Duration = Field(60.0, gt=0, description="how long an event's number is remembered; open")
    parents: list[int] | None = Field(
        None,
        description="the tree itself: the parent of each peer, -1 for the root; left out: laid out by `tree`",
    )

    @model_validator(mode="after")
    def _sound(self) -> Self:
        check_domains(self.attributes)
        if self.parents is not None:
            check_tree(self.parents)
        return self


def check_tree(parents: list[int]) -> None:
    """Raises ValueError unless there is one root, from which there is a way to each peer."""
    if parents.count(-1) != 1:
        raise ValueError(f"a tree has one root, with the parent -1; this one has {parents.count(-1)}")
    for peer in range(len(parents)):
        steps, at = 0, peer
        while parents[at] != -1:
            at, steps = parents[at], steps + 1
            if not 0 <= at < len(parents) or steps > len(parents):
                raise ValueError(f"peer {peer} does not lie below the root of the tree")
