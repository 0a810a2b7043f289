"""The content of a report: the figures and sections of the run's workloads, of Trellis, and of packages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, TypeVar

from analysis.charts.bars import BarChart
from analysis.charts.chart import LineChart
from analysis.charts.delivery_tree import Drawing
from analysis.charts.results import Results
from analysis.contract.figures import Block, Chart, Figure, Part, Rows, Section, SettingLine, Text
from analysis.contract.packages import Brought, brought
from analysis.contract.trouble import Trouble, Unfit
from analysis.contract.workload_kinds import Kind, named, own
from analysis.report.figures_by_variant import MAINTENANCE
from analysis.report.figures_time import PEERS_UP

T = TypeVar("T", Figure, Section)
_CHARTS = (LineChart, BarChart)
_BLOCKS = {Text: "text", Rows: "rows", LineChart: "charts", BarChart: "charts", Drawing: "drawing"}


@dataclass(frozen=True, slots=True)
class DrawnSection:
    """A section, ready to be shown."""

    name: str
    title: str
    short: str
    blocks: list[tuple[str, list[Any]]]
    """The blocks that a template draws: "text", "rows", "charts" or "drawing", and those that follow each
    other."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The content that is shown of a run beside its measures and claims."""

    setting: list[SettingLine]
    charts: dict[Part, list[Chart]]
    sections: list[DrawnSection] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    """Reports of what packages bring and could not be shown."""

    @classmethod
    def by(cls, results: Results) -> Shown:
        """Return all that is known for this run. What fails of a package is reported, and the rest
        is shown."""
        known, troubles = named(results.summary.get("workloads") or own())
        setting = list(dict.fromkeys(line for kind in known for line in kind.analysis.setting))
        shown = cls(setting, {}, troubles=troubles)
        shown._draw(results, _figures(known, troubles))
        shown._write(results, _sections(known, troubles))
        return shown

    def _draw(self, results: Results, figures: Iterable[Brought[Figure]]) -> None:
        self.charts.update({"variants": [], "spread": [], "time": []})
        taken: set[str] = set()
        for figure in figures:
            try:
                charts = [chart for chart in figure.item.draw(results) if chart is not None]
                for chart in charts:
                    if not isinstance(chart, _CHARTS):
                        raise Unfit(f"it gives a {type(chart).__name__}, which is no chart")
                    if figure.package and chart.name in taken:
                        raise Unfit(f'another chart has the name "{chart.name}". Rename it')
            except Exception as error:
                self.troubles.append(figure.trouble(error))
                continue
            taken.update(chart.name for chart in charts)
            self.charts[figure.item.part] += charts

    def _write(self, results: Results, sections: Iterable[Brought[Section]]) -> None:
        for section in sections:
            try:
                blocks = [block for block in section.item.write(results) if block is not None]
                drawn = _arranged(blocks)
            except Exception as error:
                self.troubles.append(section.trouble(error))
                continue
            if drawn:
                title = section.item.title
                name = f"section-{section.name}" if section.name else section.item.name
                self.sections.append(DrawnSection(name, title, section.item.short or title, drawn))


def _once(every: Iterable[Brought[T]]) -> list[Brought[T]]:
    """Return each once, also if several kinds of workload have it, or a kind and an entry point."""
    found: dict[T, Brought[T]] = {}
    for one in every:
        found.setdefault(one.item, one)
    return list(found.values())


def _figures(known: Sequence[Kind], troubles: list[Trouble]) -> list[Brought[Figure]]:
    """Return peers that are up, the figures of kinds of workload, maintenance traffic, and those of
    packages."""
    of_packages, refused = brought("figures", Figure)
    troubles += refused
    found = [
        Brought(PEERS_UP, "peers that are up"),
        *(
            Brought(figure, f'a figure of the workload "{kind.name}"', kind.package)
            for kind in known
            for figure in kind.analysis.figures
        ),
        Brought(MAINTENANCE, "maintenance traffic"),
        *of_packages,
    ]
    return _once(found)


def _sections(known: Sequence[Kind], troubles: list[Trouble]) -> list[Brought[Section]]:
    of_packages, refused = brought("sections", Section)
    troubles += refused
    found = [
        Brought(section, f'a section of the workload "{kind.name}"', kind.package)
        for kind in known
        for section in kind.analysis.sections
    ]
    return _once([*found, *of_packages])


def _arranged(blocks: Sequence[Block]) -> list[tuple[str, list[Any]]]:
    """Return blocks with their kinds; successive blocks of one kind are together. Raises Unfit."""
    for block in blocks:
        if type(block) not in _BLOCKS:
            raise Unfit(f"it gives a {type(block).__name__}, which is no text, table, chart or drawing")
        if isinstance(block, Rows) and any(len(row) != len(block.columns) for row in block.rows):
            raise Unfit(f"a row of a table has not as many texts as columns: {len(block.columns)}")
    return [(kind, list(those)) for kind, those in groupby(blocks, lambda block: _BLOCKS[type(block)])]
