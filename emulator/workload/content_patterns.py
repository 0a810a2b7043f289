"""The kinds of subscriptions by content of the `workload:` part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from emulator.workload.attribute import Attribute, attribute_problems
from emulator.workload.subscription_sources import ContentSource, PlacedContentSource, Problems, Rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class RangePattern(ContentSource):
    """Conjunctions of ranges over the attributes, by random peers (Li, section 4.1)."""

    kind: Literal["ranges"]
    attributes: list[Attribute] = Field(min_length=1, max_length=1000)

    def domains(self) -> Mapping[str, tuple[float, float]]:
        """Return the domains as the parameters give them."""
        return {attribute.name: (attribute.low, attribute.high) for attribute in self.attributes}

    def draw_interests(self, count: int, random: np.random.Generator) -> Rows:
        """Return ranges around points that are drawn as those of events are."""
        from emulator.workload.ranges import draw_interests

        return draw_interests(self.attributes, count, random)

    def draw_events(self, count: int, random: np.random.Generator) -> Rows:
        """Return a value of each attribute for every event."""
        from emulator.workload.ranges import draw_events

        return draw_events(self.attributes, count, random)

    def problems(self) -> Problems:
        """Return what is wrong with attributes that cannot be drawn."""
        return attribute_problems(self.attributes)


class BoxPattern(PlacedContentSource):
    """A range of each attribute, so wide that an event interests as many peers as is asked for."""

    kind: Literal["boxes"]
    attributes: dict[str, tuple[float, float]] = Field(
        {"a1": (0.0, 1000.0)}, min_length=1, max_length=3, description="name to domain [low, high]"
    )
    interested: float = Field(45.0, gt=0, description="peers that an event interests, on average")
    interests: Literal["uniform", "skewed", "local"] = Field(
        "uniform",
        description="where ranges lie: anywhere, by Zipf, or alike for peers that are near each other",
    )
    events: Literal["uniform", "skewed"] = Field(
        "uniform", description="where events lie: anywhere, or by Zipf"
    )
    skew: float = Field(1.0, ge=0, le=10, description="of the Zipf distribution over hundredths of a domain")
    regions: int = Field(10, ge=1, le=1000, description="of peers that want alike, if interests are local")

    def domains(self) -> Mapping[str, tuple[float, float]]:
        """Return the domains as the parameters give them."""
        return self.attributes

    def draw_interests_of(
        self, peer: NDArray[np.int32], region: NDArray[np.int32], random: np.random.Generator
    ) -> Rows:
        """Return boxes of one width, which is as large as `interested` asks for."""
        from emulator.workload.draw_boxes import draw_interests, draw_points, draw_points_of_regions

        count = len(self.attributes)
        if self.interests == "local":
            centres = draw_points_of_regions(region, self.regions, count, random)
        else:
            skew = self.skew if self.interests == "skewed" else None
            centres = draw_points(skew, len(peer), count, random)
        return draw_interests(self.attributes, centres, peer, self.interested, self._skew_of_events, random)

    def draw_events(self, count: int, random: np.random.Generator) -> Rows:
        """Return a value of each attribute for every event."""
        from emulator.workload.draw_boxes import draw_events

        return draw_events(self.attributes, self._skew_of_events, count, random)

    def problems(self) -> Problems:
        """Return the domains that are empty."""
        return [
            (f"attributes.{name}", f"the domain [{low:g}, {high:g}] is empty. Let it have low < high")
            for name, (low, high) in self.attributes.items()
            if not low < high
        ]

    @property
    def _skew_of_events(self) -> float | None:
        return self.skew if self.events == "skewed" else None
