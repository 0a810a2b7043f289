"""The parameters of filter-based routing."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from emulator.protocols.pubsub.content.parameters import FilterParameters


class SienaParameters(FilterParameters):
    """The parameters of Siena's servers. The paper names no times."""

    tree: Literal["minimum-spanning", "shortest-path"] = Field(
        "minimum-spanning", description="the tree over all servers, laid out by their round-trip times"
    )
    parents: list[int] | None = Field(
        None,
        description="the tree itself: the parent of each peer, -1 for the root; left out: laid out by `tree`",
    )

    @field_validator("parents")
    @classmethod
    def _is_tree(cls, parents: list[int] | None) -> list[int] | None:
        if parents is not None:
            check_tree(parents)
        return parents


def check_tree(parents: list[int]) -> None:
    """Raises ValueError unless there is one root, from which a path leads to each peer."""
    if parents.count(-1) != 1:
        raise ValueError(f"a tree has one root, with the parent -1; this one has {parents.count(-1)}")
    for peer in range(len(parents)):
        steps, at = 0, peer
        while parents[at] != -1:
            at, steps = parents[at], steps + 1
            if not 0 <= at < len(parents) or steps > len(parents):
                raise ValueError(f"peer {peer} does not lie below the root of the tree")
