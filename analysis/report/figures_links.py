"""The figures of the load of links, and of the waits there, in time."""

from __future__ import annotations

from typing import Final

from analysis.charts.chart import Quantity, Series, line_chart
from analysis.charts.results import Results
from analysis.contract.figures import Chart, Figure
from analysis.report.figures_shown import drawn
from analysis.report.figures_time import moments, moves
from analysis.report.over_seeds import mean_points, seeds, told

_LOAD = (
    "The load of links in each interval of the measure phase, by class and direction: what they took in over "
    "what they can carry at their own rate while their peers are up. What waits in a queue counts, so it can "
    "exceed 100 %."
)
_WAIT = (
    "The {which} of the waits of the messages of each interval: by how much a message was later at the end "
    "of a link than it would have been alone there."
)
_DROPS = "The messages that did not fit into the queues of links, in each interval, by class and direction."
_CHARTS: Final = (
    ("load", "time-link-load", "Load of links", _LOAD, Quantity("load", "share")),
    ("wait_ms", "time-link-wait", "Waits at links, mean", _WAIT.format(which="mean"), Quantity("wait", "ms")),
    (
        *("wait_p99_ms", "time-link-wait-p99", "Waits at links, 99th percentile"),
        *(_WAIT.format(which="99th percentile"), Quantity("wait", "ms")),
    ),
    ("drops", "time-link-drops", "Messages that links dropped", _DROPS, Quantity("messages", "")),
)
"""The column, name, title, text and quantity of each figure."""


def _draw(results: Results) -> list[Chart]:
    if not results.has("link_series"):
        return []
    time, marks = Quantity("trial time", "s"), moments(results)
    return drawn(
        *(
            line_chart(
                name, title, told(about, results), time, y, _lines(results, column),
                marks=marks, moves=moves(results),
            )
            for column, name, title, about, y in _CHARTS
        )
    )  # fmt: skip


def _lines(results: Results, column: str) -> list[Series]:
    """Return a line for each class of links and way of each variant: means over its seeds."""
    lines = []
    for label, trials in seeds(results):
        of_seeds = [_by_link(results, trial, column) for trial in trials]
        for link in dict.fromkeys(link for values in of_seeds for link in values):
            name = f"{label}: {link}" if len(results.variants) > 1 else link
            lines.append(Series(name, mean_points([values.get(link, {}) for values in of_seeds])))
    return lines


def _by_link(results: Results, trial: str, column: str) -> dict[str, dict[float, float]]:
    """Return what a trial has in the middle of each interval, by class of links and way."""
    found: dict[str, dict[float, float]] = {}
    for row in results.rows("link_series", trial):
        if row[column] is not None:
            link = f"{row['class']} {row['way']}".strip()
            found.setdefault(link, {})[(row["start_s"] + row["end_s"]) / 2] = row[column]
    if column == "drops":
        return {link: values for link, values in found.items() if any(values.values())}
    return found


LINKS_IN_TIME: Final = Figure(_draw, "time")
