"""The section of the report that tells of each region."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from analysis.charts.results import Results
from analysis.contract.figures import Block, Rows, Section, Text
from analysis.report.over_seeds import mean_text, seeds, told

_ABOUT = (
    "Deliveries belong to the region of the peer that was to get the event, lookups and gets to that of the "
    "peer that asked."
)
_TITLES = {"deliveries": "deliveries made", "lookups": "lookups that succeeded", "gets": "gets that found"}


def _write(results: Results) -> Iterator[Block]:
    if not results.has("regions"):
        return
    rows = [
        (
            f"{label}, {region}" if len(results.variants) > 1 else region,
            mean_text([row["peers"] for row in rows]),
            f"{_TITLES[outcome]}, of {mean_text([row['asked'] for row in rows])}",
            mean_text([row["share"] for row in rows], "share"),
            mean_text([row["delay_ms"] for row in rows], "ms"),
        )
        for label, trials in seeds(results)
        for (region, outcome), rows in _by_region(results, trials).items()
    ]
    if rows:
        yield Text(told(_ABOUT, results, "Numbers"))
        yield Rows(("Region", "Peers", "What", "Share", "Mean delay"), rows)


def _by_region(results: Results, trials: Sequence[str]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return the rows of each seed by region and kind of outcome."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for trial in trials:
        for row in results.rows("regions", trial):
            found.setdefault((row["region"], row["outcome"]), []).append(row)
    return found


BY_REGION: Final = Section("By region", _write, "Regions", "regions")
