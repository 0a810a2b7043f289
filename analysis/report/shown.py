"""The content of a report: the figures and sections of the run's workloads, of Trellis, and of packages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import Any, TypeVar

from analysis.charts.bars import BarChart
from analysis.charts.chart import LineChart
from analysis.charts.delivery_tree import Drawing
from analysis.charts.overlay_graph import OverlayGraph
from analysis.charts.results import Results
from analysis.contract.figures import Block, Chart, Figure, Lead, Part, Rows, Section, SettingLine, Text
from analysis.contract.packages import Brought, brought
from analysis.contract.trouble import FAILURES, Trouble, Unfit
from analysis.contract.workload_kinds import Kind, in_every_run, named
from analysis.report.by_fault import BY_FAULT
from analysis.report.by_region import BY_REGION
from analysis.report.figures_by_variant import MAINTENANCE
from analysis.report.figures_links import LINKS_IN_TIME
from analysis.report.figures_time import PEERS_UP, TRAFFIC
from analysis.report.link_section import LINKS
from analysis.report.missed_section import MISSED
from analysis.report.topology import DEGREES, TOPOLOGY
from analysis.report.what_faults_did import DISRUPTIONS
from analysis.report.where_lost import WHERE_LOST

T = TypeVar("T", Figure, Section)
_CHARTS = (LineChart, BarChart)
_ANCHOR = "[A-Za-z][A-Za-z0-9_-]*"
"""The names that charts may have, which are anchors in the page."""
_NAMED = (*_CHARTS, OverlayGraph)
_BLOCKS = {
    Text: "text", Lead: "text", Rows: "rows", LineChart: "charts", BarChart: "charts", Drawing: "drawing",
    OverlayGraph: "graphs",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class DrawnSection:
    """A section, ready to be shown."""

    name: str
    title: str
    short: str
    blocks: list[tuple[str, list[Any]]]
    """The blocks that a template draws: "text", "rows", "charts", "drawing" or "graphs", and those that
    follow each other."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The content that is shown of a run beside its measures and claims."""

    setting: list[SettingLine]
    charts: dict[Part, list[Chart]]
    sections: list[DrawnSection] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    """Reports of what packages bring and could not be shown."""
    _taken: set[str] = field(default_factory=set)
    """The names of charts so far."""

    @property
    def leads(self) -> list[str]:
        """The sentences of sections that the head says too."""
        blocks = (block for section in self.sections for _, those in section.blocks for block in those)
        return [block.text for block in blocks if isinstance(block, Lead)]

    @classmethod
    def by(cls, results: Results) -> Shown:
        """Return all that is known for this run. What fails of a package is reported, and the rest
        is shown."""
        known, troubles = named(results.summary.get("workloads") or in_every_run())
        setting = list(dict.fromkeys(line for kind in known for line in kind.analysis.setting))
        shown = cls(setting, {}, troubles=troubles)
        shown._draw(results, _figures(known, troubles))
        shown._write(results, _sections(known, troubles))
        return shown

    def _draw(self, results: Results, figures: Iterable[Brought[Figure]]) -> None:
        self.charts.update({"variants": [], "spread": [], "time": []})
        for figure in figures:
            try:
                charts = [chart for chart in figure.item.draw(results) if chart is not None]
                for chart in charts:
                    if not isinstance(chart, _CHARTS):
                        raise Unfit(f"it gives a {type(chart).__name__}, which is no chart")
                names = self._free_names(figure, charts)
            except FAILURES as error:
                self.troubles.append(figure.trouble(error))
                continue
            self._taken.update(names)
            self.charts[figure.item.part] += charts

    def _write(self, results: Results, sections: Iterable[Brought[Section]]) -> None:
        for section in sections:
            try:
                blocks = [block for block in section.item.write(results) if block is not None]
                drawn = _arranged(blocks)
                names = self._free_names(section, [each for each in blocks if isinstance(each, _NAMED)])
                name = f"section-{section.name}" if section.name else section.item.name
                if section.package and any(name == other.name for other in self.sections):
                    raise Unfit(f'another section has the name "{section.name}". Rename its entry point')
            except FAILURES as error:
                self.troubles.append(section.trouble(error))
                continue
            self._taken.update(names)
            if drawn:
                title = section.item.title
                self.sections.append(DrawnSection(name, title, section.item.short or title, drawn))

    def _free_names(self, brought: Brought[T], charts: Sequence[Chart | OverlayGraph]) -> set[str]:
        """Return the names of charts. Raises Unfit if a package's has one that another chart has."""
        names: set[str] = set()
        for chart in charts:
            if brought.package:
                if not (isinstance(chart.name, str) and re.fullmatch(_ANCHOR, chart.name)):
                    raise Unfit(f"a chart has the name {chart.name!r:.80}. Use letters, digits, - and _")
                if not (isinstance(chart.title, str) and isinstance(chart.about, str)):
                    raise Unfit(f'title and text of the chart "{chart.name}" are texts')
                if chart.name in self._taken | names:
                    raise Unfit(f'another chart has the name "{chart.name}". Rename it')
            names.add(chart.name)
        return names


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
        Brought(DISRUPTIONS, "messages that did not arrive as sent"),
        Brought(LINKS_IN_TIME, "load of links and waits there"),
        *(
            Brought(figure, f'a figure of the workload "{kind.name}"', kind.package)
            for kind in known
            for figure in kind.analysis.figures
        ),
        Brought(TRAFFIC, "maintenance traffic in time"),
        Brought(MAINTENANCE, "maintenance traffic"),
        Brought(DEGREES, "neighbours of a peer"),
        *of_packages,
    ]
    return _once(found)


def _sections(known: Sequence[Kind], troubles: list[Trouble]) -> list[Brought[Section]]:
    of_packages, refused = brought("sections", Section)
    troubles += refused
    found = [
        Brought(BY_FAULT, "what is told of the phases of faults"),
        Brought(BY_REGION, "what is told of regions"),
        Brought(WHERE_LOST, "what is told of lost messages"),
        Brought(MISSED, "what is told of missed deliveries"),
        Brought(LINKS, "what is told of links"),
    ]
    found += [
        Brought(section, f'a section of the workload "{kind.name}"', kind.package)
        for kind in known
        for section in kind.analysis.sections
    ]
    found.append(Brought(TOPOLOGY, "what is told of the topology"))
    return _once([*found, *of_packages])


def _arranged(blocks: Sequence[Block]) -> list[tuple[str, list[Any]]]:
    """Return blocks with their kinds; successive blocks of one kind are together. Raises Unfit."""
    for block in blocks:
        if type(block) not in _BLOCKS:
            raise Unfit(f"it gives a {type(block).__name__}, which is no text, table, chart or drawing")
        texts: list[Any] = [block.text] if isinstance(block, Text) else []
        if isinstance(block, Rows):
            texts += chain(block.columns, *block.rows)
        for text in texts:
            if not isinstance(text, str):
                raise Unfit(f"it shows {text!r:.80}, which is no text")
        if isinstance(block, Rows) and any(len(row) != len(block.columns) for row in block.rows):
            raise Unfit(f"a row of a table has not as many texts as columns: {len(block.columns)}")
    return [(kind, list(those)) for kind, those in groupby(blocks, lambda block: _BLOCKS[type(block)])]
