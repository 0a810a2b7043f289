"""The parameters of multicast groups."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from emulator.protocols.pubsub.content.parameters import ContentParameters


class GroupLayout(BaseModel):
    """The groups and their trees, laid out before the start."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    group_of_cell: list[int] = Field(description="-1 for a cell that nobody wants")
    parents: list[dict[int, int]] = Field(description="of each group: member to parent, -1 for the root")
    entries: list[list[int]] = Field(
        description="of each group: the member that each server sends an event to, itself if it is one"
    )


class GroupParameters(ContentParameters):
    """The parameters of the Forgy k-means clustering, one of the paper's algorithms."""

    groups: int = Field(20, ge=1, le=1000, description="k")
    cells: int = Field(
        1000, ge=1, le=20_000, description="most cells that the event space is divided into, evenly"
    )
    layout: GroupLayout | None = Field(None, description="the groups; left out: clustered from the plan")

    @property
    def cells_each(self) -> int:
        """The number of cells of each attribute's domain."""
        each = 1
        while (each + 1) ** len(self.attributes) <= self.cells:
            each += 1
        return each
