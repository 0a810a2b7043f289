"""The figure of messages that were stopped, doubled or damaged, by their cause."""

from __future__ import annotations

from typing import Final

from analysis.charts.chart import Point, Quantity, Series, line_chart
from analysis.charts.results import Results
from analysis.contract.figures import Chart, Figure
from analysis.report.figures_shown import drawn, shown
from analysis.report.figures_time import moments

_ABOUT = (
    "The messages a second that a fault stopped (or doubled, or damaged, where it says so), that did not fit "
    "into a link, or that would have waited too long for a busy peer. One trial of each variant."
)


def _draw(results: Results) -> list[Chart]:
    if not results.has("disruptions"):
        return []
    lines = []
    for label, trial in shown(results):
        of_cause: dict[str, dict[float, float]] = {}
        widths = {}
        for row in results.rows("disruptions", trial):
            width = row["end_s"] - row["start_s"]
            of_cause.setdefault(row["cause"], {})[row["start_s"]] = row["messages"] / width
            widths[row["cause"]] = width
        for cause, rates in of_cause.items():
            name = f"{label}: {cause}" if len(results.variants) > 1 else cause
            lines.append(Series(name, _with_zeros(rates, widths[cause])))
    title, rate = "Messages that did not arrive as sent", Quantity("rate", "messages/s")
    time = Quantity("trial time", "s")
    return drawn(line_chart("time-disruptions", title, _ABOUT, time, rate, lines, marks=moments(results)))


def _with_zeros(rates: dict[float, float], width: float) -> list[Point]:
    """Return the rates of intervals, with those before, between and after them in which nothing was hit."""
    first, last = round(min(rates) / width), round(max(rates) / width)
    places = range(max(first - 1, 0), last + 2)
    by_place = {round(start / width): rate for start, rate in rates.items()}
    return [Point((place + 0.5) * width, by_place.get(place, 0.0)) for place in places]


DISRUPTIONS: Final = Figure(_draw, "time")
