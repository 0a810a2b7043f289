"""Figures of the measure phase in time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.report.chart import Mark, Point, Quantity, Series, line_chart
from analysis.report.figures_shown import Chart, drawn, shown
from analysis.report.results import Results
from emulator.files.quantities import parse_duration

_CURVES = {
    "peers_up": (
        "time-peers", "Peers up", "How many peers were up, on average over each interval.", Quantity("peers"),
    ),
    "hit_ratio": (
        "time-hit", "Hit ratio in time",
        "Deliveries made of those expected, by the time of publication.", Quantity("hit ratio", "share"),
    ),
    "overhead": (
        "time-overhead", "Traffic overhead in time",
        "The share of received events that the receiver had not asked for.", Quantity("overhead", "share"),
    ),
    "delay_ms": (
        "time-delay", "Delay in time", "Mean time from publication to delivery.", Quantity("delay", "ms"),
    ),
    "lookup_success": (
        "time-success", "Success of lookups in time",
        "The share of lookups that ended at the right peer, by the time at which they began.",
        Quantity("success", "share"),
    ),
    "lookup_delay_ms": (
        "time-lookups", "Delay of lookups in time",
        "Mean time from the origin to where the lookup ended, by the time at which it began.",
        Quantity("delay", "ms"),
    ),
}  # fmt: skip
"""Column of the table `series`: name, title, meaning and axis of its figure."""
_NEAR_ONE = ("hit_ratio", "lookup_success")
"""Drawn without a zero."""


def series_charts(results: Results) -> list[Chart]:
    """What was measured in each interval; one trial of each variant."""
    lines: dict[str, list[Series]] = {column: [] for column in _CURVES}
    for label, trial in shown(results):
        table = results.table("series", trial)
        rows = [] if table is None else sorted(table.to_pylist(), key=lambda row: row["start_s"])
        for column, series in lines.items():
            points = [
                Point((row["start_s"] + row["end_s"]) / 2, row[column])
                for row in rows
                if row.get(column) is not None
            ]
            series.append(Series(label, points))
    time, marks = Quantity("trial time", "s"), _moments(results.experiment)
    return drawn(
        *(
            line_chart(
                name, title, about, time, y, lines[column], from_zero=column not in _NEAR_ONE, marks=marks
            )
            for column, (name, title, about, y) in _CURVES.items()
        )
    )


def _moments(experiment: Mapping[str, Any]) -> list[Mark]:
    churn = experiment.get("churn") or {}
    named = (("flash_crowd", "flash crowd"), ("crash", "crash"))
    return [Mark(parse_duration(churn[key]["at"]), name) for key, name in named if churn.get(key)]
