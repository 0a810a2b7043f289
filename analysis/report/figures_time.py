"""Figures of the measure phase over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analysis.charts.chart import Mark, Point, Quantity, Series, line_chart
from analysis.charts.results import Results
from analysis.contract.figures import Chart, Figure
from analysis.report.figures_shown import drawn, shown
from emulator.files.quantities import parse_duration


@dataclass(frozen=True, slots=True)
class Curve:
    """A figure of a column of a table that has a row for each interval of the measure phase."""

    column: str
    name: str
    title: str
    about: str
    y: Quantity
    from_zero: bool = True
    table: str = "series"
    """The name of the table, which has start_s and end_s."""


def curve(of: Curve) -> Figure:
    """Return a figure of what was measured in each interval; one trial of each variant."""

    def draw(results: Results) -> list[Chart]:
        lines = []
        for label, trial in shown(results):
            rows = sorted(results.rows(of.table, trial), key=lambda row: row["start_s"])
            points = [
                Point((row["start_s"] + row["end_s"]) / 2, row[of.column])
                for row in rows
                if row.get(of.column) is not None
            ]
            lines.append(Series(label, points))
        time, marks = Quantity("trial time", "s"), _moments(results.experiment)
        return drawn(
            line_chart(of.name, of.title, of.about, time, of.y, lines, from_zero=of.from_zero, marks=marks)
        )

    return Figure(draw, "time")


PEERS_UP = curve(
    Curve(
        "peers_up", "time-peers", "Peers up", "How many peers were up, on average over each interval.",
        Quantity("peers"),
    )
)  # fmt: skip


def _moments(experiment: Mapping[str, Any]) -> list[Mark]:
    churn = experiment.get("churn") or {}
    named = (("flash_crowd", "flash crowd"), ("crash", "crash"))
    moments = [Mark(parse_duration(churn[key]["at"]), name) for key, name in named if churn.get(key)]
    for fault in experiment.get("faults") or []:
        begins = parse_duration(fault["at"])
        moments.append(Mark(begins, fault["name"]))
        if fault.get("for"):
            moments.append(Mark(begins + parse_duration(fault["for"]), f"end of {fault['name']}"))
    return moments
