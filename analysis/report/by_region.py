"""The section of the report that tells of each region."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from analysis.charts.numerals import estimate
from analysis.charts.results import Results
from analysis.contract.figures import Block, Rows, Section, Text
from analysis.report.figures_shown import shown

_ABOUT = (
    "Deliveries belong to the region of the peer that was to get the event, lookups and gets to that of the "
    "peer that asked. One trial of each variant."
)
_TITLES = {"deliveries": "deliveries made", "lookups": "lookups that succeeded", "gets": "gets that found"}


def _write(results: Results) -> Iterator[Block]:
    if not results.has("regions"):
        return
    rows = [
        (
            f"{label}, {row['region']}" if len(results.variants) > 1 else row["region"],
            str(row["peers"]),
            f"{_TITLES[row['outcome']]}, of {row['asked']:,}",
            f"{estimate(row['share'], None, 'share')} %",
            f"{estimate(row['delay_ms'], None, 'ms')} ms",
        )
        for label, trial in shown(results)
        for row in results.rows("regions", trial)
    ]
    if rows:
        yield Text(_ABOUT)
        yield Rows(("Region", "Peers", "What", "Share", "Mean delay"), rows)


BY_REGION: Final = Section("By region", _write, "Regions", "regions")
