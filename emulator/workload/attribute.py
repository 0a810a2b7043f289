"""The numeric attributes of Li's workload, as the experiment file has them."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

_MOST_RANKS = 1_000_000


class Attribute(BaseModel):
    """A numeric attribute of events, and how it is drawn (Li, section 4.1.2, tables 4.2 and 4.3)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=100, description="name of the attribute")
    low: float = Field(ge=-1e15, le=1e15, description="least value of the attribute")
    high: float = Field(ge=-1e15, le=1e15, description="largest value of the attribute")
    presence: float = Field(0.5, ge=0, le=1, description="share of subscriptions that name the attribute")
    sub_range: float = Field(gt=0, description="width of the sub-ranges that the domain is divided into")
    skew: float = Field(0.0, ge=0, le=10, description="of the Zipf distribution over sub-ranges")
    size_skew: float = Field(0.0, ge=0, le=10, description="of the Zipf distribution over range sizes")
    size_bound: float = Field(0.5, gt=0, le=1, description="largest range, as a share of the domain")


def attribute_problems(attributes: Sequence[Attribute]) -> list[tuple[str, str]]:
    """Return the key below `workload.subscriptions` and the problem of each attribute that cannot
    be drawn."""
    problems = []
    names = [attribute.name for attribute in attributes]
    for index, attribute in enumerate(attributes):
        here, width = f"attributes.{index}", attribute.high - attribute.low
        if attribute.name in names[:index]:
            problems.append((f"{here}.name", f'there are two attributes "{attribute.name}"'))
        if width <= 0:
            problems.append((f"{here}.high", f"{attribute.high:g}, but has to be above {attribute.low:g}"))
        elif attribute.sub_range > width:
            text = f"{attribute.sub_range:g}, but the domain is only {width:g} wide"
            problems.append((f"{here}.sub_range", text))
        elif width / attribute.sub_range > _MOST_RANKS:
            text = f"{attribute.sub_range:g} makes more than {_MOST_RANKS:,} sub-ranges. Make it larger"
            problems.append((f"{here}.sub_range", text))
    if not any(attribute.presence > 0 for attribute in attributes):
        problems.append(("attributes.0.presence", "no attribute can be in a subscription. Raise one"))
    return problems
