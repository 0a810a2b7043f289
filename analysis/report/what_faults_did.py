"""The figure of messages that were stopped, delayed, doubled or damaged, by their cause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from analysis.charts.chart import Point, Quantity, Series, line_chart
from analysis.charts.results import Results
from analysis.contract.figures import Chart, Figure
from analysis.report.figures_shown import drawn
from analysis.report.figures_time import moments, moves
from analysis.report.over_seeds import mean_points, seeds, told

Interval = tuple[float, float]
"""The begin and the end of an interval in seconds of trial time."""
_ABOUT = (
    "The messages a second that a fault stopped (or delayed, doubled or damaged, where it says so), that did "
    "not fit into a link, or that would have waited too long for a busy peer, and those that the network's "
    "loss took (loss)."
)


def _draw(results: Results) -> list[Chart]:
    if not results.has("disruptions"):
        return []
    lines = []
    for label, trials in seeds(results):
        of_seeds = [_rates(results, trial) for trial in trials]
        for cause in dict.fromkeys(cause for rates in of_seeds for cause in rates):
            name = f"{label}: {cause}" if len(results.variants) > 1 else cause
            lines.append(Series(name, _over_seeds([rates.get(cause, {}) for rates in of_seeds])))
    title, rate = "Messages that did not arrive as sent", Quantity("rate", "messages/s")
    time = Quantity("trial time", "s")
    return drawn(
        line_chart(
            "time-disruptions", title, told(_ABOUT, results), time, rate, lines,
            marks=moments(results), moves=moves(results),
        )
    )  # fmt: skip


def _rates(results: Results, trial: str) -> dict[str, dict[Interval, float]]:
    """Return the messages a second in each interval in which any was hit, by cause."""
    found: dict[str, dict[Interval, float]] = {}
    for row in results.rows("disruptions", trial):
        width = row["end_s"] - row["start_s"]
        found.setdefault(row["cause"], {})[row["start_s"], row["end_s"]] = row["messages"] / width
    return found


def _over_seeds(of_seeds: Sequence[Mapping[Interval, float]]) -> list[Point]:
    """Return the mean rates of a cause, with those before, between and after the intervals in which a seed
    had any."""
    hit = {interval for rates in of_seeds for interval in rates}
    width = min(end - start for start, end in hit)
    places = {round(start / width) for start, _ in hit}
    every = range(max(min(places) - 1, 0), max(places) + 2)
    placed = [{round(start / width): rate for (start, _), rate in rates.items()} for rates in of_seeds]
    return mean_points(
        [{(place + 0.5) * width: rates.get(place, 0.0) for place in every} for rates in placed]
    )


DISRUPTIONS: Final = Figure(_draw, "time")
