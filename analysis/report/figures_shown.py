"""The charts that have something to show, and the trials that they show."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.charts.results import Results
from analysis.contract.figures import Chart


def shown(results: Results) -> Iterator[tuple[str, str]]:
    """Yield the label and the shown trial of each variant."""
    for variant in results.variants:
        trial = results.shown_trials.get(variant["variant"])
        if trial is not None:
            yield results.labels[variant["variant"]], trial


def drawn(*charts: Chart | None) -> list[Chart]:
    """Return the charts that have something to show."""
    return [chart for chart in charts if chart is not None]
