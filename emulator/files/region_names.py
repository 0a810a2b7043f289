"""Names of regions in other parts of an experiment file: one region, or several."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field


def _one_or_more(given: Any) -> Any:
    """Accept the name of one region for a list of one."""
    return [given] if isinstance(given, str) else given


RegionNames = Annotated[list[str], BeforeValidator(_one_or_more), Field(min_length=1, max_length=1000)]
"""The type of a key that names regions of the latency."""
