"""Names of regions in other parts of an experiment file: one region, or several."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field


def _one_or_more(given: Any) -> Any:
    """Accept the name of one region for a list of one."""
    return [given] if isinstance(given, str) else given


RegionNames = Annotated[list[str], BeforeValidator(_one_or_more), Field(min_length=1, max_length=1000)]
"""The type of a key that names regions of the network."""


def unknown_region(names: Sequence[str], known: Collection[str] | None) -> str:
    """Return what is wrong with the names of regions, of which there are those `known`, or an empty text.

    None stands for regions of which nothing is known, because the network is wrong.
    """
    if not names or len(set(names)) < len(names):
        return "name each region once, and one at least"
    if known is None:
        return ""
    unknown = [name for name in names if name not in known]
    if unknown and known:
        return f'there is no region "{unknown[0]}". There are: {", ".join(known)}. Name one of these'
    if unknown:
        one, other = (*names, "others")[:2]
        regions = f"[{{name: {one}, share: 0.5}}, {{name: {other}, share: 0.5}}]"
        return f"the network has no regions. Write `network.regions`, such as {regions}"
    return ""
