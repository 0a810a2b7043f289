"""The page of a paper: for each of its experiments our figures, with the paper's numbers beside ours, or the
command that makes them.

A paper's own curves are not in the project; what it prints are the numbers of its claims.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from analysis.charts.panels import Panels
from analysis.charts.results import Results, ResultsError
from analysis.report.by_what_is_varied import shown_by_what_is_varied
from analysis.report.outcome import Drawn, leading
from analysis.report.page import render
from analysis.report.shown import Shown
from emulator.experiment.run.directory import RunDirectory, write_whole

_CHARTS: Final = 4
"""The most figures of an experiment."""


@dataclass(frozen=True, slots=True)
class Asked:
    """An experiment of a paper: its file, and what that says of it."""

    file: Path
    name: str
    title: str


@dataclass(frozen=True, slots=True)
class Regenerated:
    """An experiment of a paper with what its newest run has, or the reason why it has none."""

    asked: Asked
    run: RunDirectory | None = None
    problem: str = ""
    valid: bool = False
    created: str = ""
    charts: list[Drawn] = field(default_factory=list)
    claims: Sequence[Mapping[str, Any]] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    """A short name for each variant."""

    @property
    def command(self) -> str:
        """The command that runs the experiment."""
        return shlex.join(("trellis", "run", str(self.asked.file)))


def write_paper(paper: str, every: Sequence[Regenerated], page: Path) -> None:
    """Write the page of a paper at once."""
    page.parent.mkdir(parents=True, exist_ok=True)
    write_whole(page, render("paper.html", paper=paper, every=every))


def regenerated(asked: Asked, run: RunDirectory | None) -> Regenerated:
    """Return what a run of an experiment has. A run that cannot be read is told with the reason."""
    if run is None:
        return Regenerated(asked)
    try:
        results = Results.read(run)
        shown = Shown.by(results)
        claims = results.claims
    except ResultsError as error:
        return Regenerated(asked, run, str(error))
    figures = {part: shown_by_what_is_varied(results, charts) for part, charts in shown.charts.items()}
    by_name = {chart.name: chart for charts in figures.values() for chart in charts}
    of_variants = [chart.name for chart in figures["variants"]]
    names = (of_variants or leading(figures))[:_CHARTS]
    return Regenerated(
        asked,
        run,
        valid=results.summary["valid"],
        created=str(results.summary.get("created", "")).replace("T", " ").removesuffix("+00:00"),
        charts=[_renamed(by_name[name], asked.name) for name in names],
        claims=claims,
        labels=results.labels,
    )


def _renamed(chart: Drawn, experiment: str) -> Drawn:
    """Return a chart whose anchors have the experiment's name, since a page has those of several."""
    name = f"{experiment}-{chart.name}"
    if isinstance(chart, Panels):
        panels = [replace(panel, name=f"{experiment}-{panel.name}") for panel in chart.charts]
        return replace(chart, name=name, charts=panels)
    return replace(chart, name=name)
