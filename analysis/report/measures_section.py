"""The measures of a report: which are shown, and how, by the number of variants."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median_low
from typing import Any, Final, Literal

from analysis.charts.chart import SHOWN_AT_FIRST
from analysis.charts.numerals import estimate, shown_unit, with_seeds
from analysis.charts.results import Results, varied_keys
from analysis.report.drawn_variants import MOST
from analysis.report.setting import part

_ORDER: Final = (
    *("Lookups", "Delivery", "Traffic overhead", "Delay", "Installing subscriptions"),
    *("Traffic of publications", "Traffic", "Gradients", "Routing by content", "Overlay"),
)
"""The headings of measures in their order. Others, which packages have, come before them."""
_AFTER_JOIN: Final = re.compile(r"(?:hit_ratio|due)_after_\d+_s")
"""The names of measures by the time since a peer's last join."""
_REST: Final = "The trial itself"
_BESIDE: Final = 7
"""The most measures beside each other where variants are rows."""

Line = tuple[str, str, str, list[str]]
"""A measure's name, title, unit and a text for each variant."""


@dataclass(frozen=True, slots=True)
class MeasureGroup:
    """The measures of one kind: name, title with unit, meaning and one text for each variant."""

    title: str
    rows: list[Line]


@dataclass(frozen=True, slots=True)
class Extremes:
    """A measure of many variants: its lowest, median and highest mean, each with a variant that has it."""

    name: str
    title: str
    unit: str
    of: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class MeasuresShown:
    """The measures as the page shows them."""

    layout: Literal["columns", "rows", "extremes"]
    """The place of the variants: in columns, in rows, or only those with extreme values."""
    groups: list[MeasureGroup] = field(default_factory=list)
    chunks: list[tuple[str, list[list[Line]]]] = field(default_factory=list)
    """The title of each group, and the measures of each of its tables, if variants are rows."""
    extremes: list[tuple[str, list[Extremes]]] = field(default_factory=list)
    zeros: list[str] = field(default_factory=list)
    """The titles of measures that are 0 in every variant."""


def measure_groups(results: Results) -> list[MeasureGroup]:
    """Return all measures that any variant has, grouped by what they are about."""
    found: dict[str, MeasureGroup] = {}
    for name, about in results.measures.items():
        cells = []
        for variant in results.variants:
            measured = variant["measures"].get(name) or {}
            mean = estimate(measured.get("mean"), measured.get("ci95"), about["unit"])
            cells.append(with_seeds(mean, results.of_seeds(variant, name)))
        if not any(name in variant["measures"] for variant in results.variants):
            continue
        unit = shown_unit(about["unit"])
        title = about.get("group") or _REST
        group = found.setdefault(title, MeasureGroup(title, []))
        group.rows.append((name, about["title"], unit, cells))
    first = [title for title in found if title not in (*_ORDER, _REST)]
    return [found[title] for title in (*first, *_ORDER, _REST) if title in found]


def groups_of_page(results: Results) -> list[MeasureGroup]:
    """Return the measures of which the page tells: where all peers join at the beginning and stay, those by
    the time since a join say nothing."""
    groups = measure_groups(results)
    if _peers_join_later(results):
        return groups
    left = [
        MeasureGroup(group.title, [row for row in group.rows if not _AFTER_JOIN.fullmatch(row[0])])
        for group in groups
    ]
    return [group for group in left if group.rows]


def _peers_join_later(results: Results) -> bool:
    """Return whether churn, a crash or the death of a host may let peers join after the join phase."""
    churn = part(results.experiment, "churn")
    of_variants = [results.experiment, *(variant["values"] for variant in results.variants)]
    faults = [fault for of in of_variants for fault in of.get("faults") or []]
    return (
        part(churn, "model").get("kind", "static") != "static"
        or any(churn.get(key) for key in ("flash_crowd", "crash"))
        or any(key.partition(".")[0] == "churn" for key in varied_keys(results.variants))
        or any(fault.get("crash") for fault in faults)
        or any(trial.get("absences") for trial in results.trials)
    )


def measures_shown(results: Results, groups: Sequence[MeasureGroup]) -> MeasuresShown:
    """Return the measures that say something: those without any value are left out, and those that are 0 in
    every variant are only named."""
    means = {name: list(means_of(results, name)) for group in groups for name, *_ in group.rows}
    telling = [
        MeasureGroup(group.title, [row for row in group.rows if any(mean for mean, _ in means[row[0]])])
        for group in groups
    ]
    telling = [group for group in telling if group.rows]
    zeros = [
        title
        for group in groups
        for name, title, *_ in group.rows
        if means[name] and not any(mean for mean, _ in means[name])
    ]
    if len(results.variants) <= SHOWN_AT_FIRST:
        return MeasuresShown("columns", telling, zeros=zeros)
    if len(results.variants) <= MOST:
        chunks = [(group.title, _in_tables(group.rows)) for group in telling]
        return MeasuresShown("rows", telling, chunks, zeros=zeros)
    extremes = [
        (group.title, [_extremes(results, name, means[name]) for name, *_ in group.rows]) for group in telling
    ]
    return MeasuresShown("extremes", telling, extremes=extremes, zeros=zeros)


def _in_tables(rows: Sequence[Line]) -> list[list[Line]]:
    """Return measures in tables that have about the same number of columns, not more than fit."""
    tables = -(-len(rows) // _BESIDE)
    each = -(-len(rows) // tables)
    return [list(rows[start : start + each]) for start in range(0, len(rows), each)]


def means_of(results: Results, name: str) -> Iterator[tuple[float, str]]:
    """Yield the mean of each variant that has one, with the variant's short name and of how many seeds it is
    if not of all: "vitis, 2 of 3 seeds"."""
    for variant in results.variants:
        found = variant["measures"].get(name)
        if found and found["mean"] is not None:
            yield found["mean"], _named(results, variant, name)


def _named(results: Results, variant: Mapping[str, Any], name: str) -> str:
    return ", ".join(filter(None, (results.labels[variant["variant"]], results.of_seeds(variant, name))))


def _extremes(results: Results, name: str, means: Sequence[tuple[float, str]]) -> Extremes:
    about = results.measures[name]
    halves = {
        _named(results, variant, name): found["ci95"]
        for variant in results.variants
        if (found := variant["measures"].get(name))
    }
    of = [
        (estimate(mean, halves.get(variant), about["unit"]), variant)
        for mean, variant in (min(means), median_low(means), max(means))
    ]
    return Extremes(name, about["title"], shown_unit(about["unit"]), of)
