"""Figures of the measure phase over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow.compute as pc

from analysis.charts.chart import Quantity, Series, line_chart
from analysis.charts.results import Results, values_label, varied_keys
from analysis.charts.time_line import Mark, Moves
from analysis.contract.figures import Chart, Figure
from analysis.report.figures_shown import drawn
from analysis.report.over_seeds import mean_points, seeds, told
from emulator.faults.spec import ATTACK
from emulator.files.quantities import parse_duration

_DECIDING: Final = ("churn", "peers", "phases", "faults")
"""The parts of an experiment that decide when peers join and leave."""


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
    """Return a figure of what was measured in each interval: means over the seeds of each variant."""

    def draw(results: Results) -> list[Chart]:
        lines = [
            Series(label, mean_points([_intervals(results, of, trial) for trial in trials]))
            for label, trials in seeds(results)
        ]
        time, marks, about = Quantity("trial time", "s"), moments(results), told(of.about, results)
        return drawn(
            line_chart(
                of.name, of.title, about, time, of.y, lines,
                from_zero=of.from_zero, marks=marks, moves=moves(results),
            )
        )  # fmt: skip

    return Figure(draw, "time")


def _intervals(results: Results, of: Curve, trial: str) -> dict[float, float]:
    """Return what a trial has in the middle of each interval."""
    return {
        (row["start_s"] + row["end_s"]) / 2: row[of.column]
        for row in results.rows(of.table, trial)
        if row.get(of.column) is not None
    }


PEERS_UP = curve(
    Curve(
        "peers_up", "time-peers", "Peers up", "How many peers were up, on average over each interval.",
        Quantity("peers"),
    )
)  # fmt: skip
TRAFFIC: Final = curve(
    Curve(
        "maintenance_bytes", "time-maintenance-bytes", "Maintenance traffic in time",
        "What a peer that is up sends by timers, not for an operation, in each interval.",
        Quantity("maintenance", "bytes/s a peer"),
    )
)  # fmt: skip


def moments(results: Results) -> list[Mark]:
    """Return when what the experiment, or one of its variants, asks for begins: moments and bands, with the
    variants that have them unless all have."""
    marks: dict[Mark, set[str]] = {}
    for variant in results.variants:
        for mark in moments_of(results, variant):
            marks.setdefault(mark, set()).add(results.labels[variant["variant"]])
    every = set(results.labels.values())
    return [replace(mark, of=frozenset(of if of != every else ())) for mark, of in marks.items()]


def moments_of(results: Results, variant: Mapping[str, Any]) -> Iterator[Mark]:
    """Yield when what the experiment asks of a variant begins and ends."""
    experiment = {**results.experiment, **variant["values"]}
    churn = experiment.get("churn") or {}
    for key, name in (("flash_crowd", "flash crowd"), ("crash", "crash")):
        if asked := experiment.get(f"churn.{key}", churn.get(key)):
            yield _mark(name, asked)
    for fault in experiment.get("faults") or []:
        yield _mark(fault["name"], fault)
    if attackers := experiment.get("attackers"):
        yield _mark(ATTACK, {**attackers, **_below("attackers", experiment)})


def _below(key: str, experiment: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a variant has below a key of the experiment, by the rest of its dotted keys."""
    start = f"{key}."
    return {name.removeprefix(start): it for name, it in experiment.items() if name.startswith(start)}


def moves(results: Results) -> list[Moves]:
    """Return when peers joined and left in each setting of the keys that decide it; none if that is not told.

    The trials of a setting are those of the first variant that has it.
    """
    if not results.has("sessions"):
        return []
    keys = [key for key in varied_keys(results.variants) if key.split(".")[0] in _DECIDING]
    values = {results.labels[v["variant"]]: v["values"] for v in results.variants}
    of_setting: dict[str, dict[str, Sequence[str]]] = {}
    for label, trials in seeds(results):
        of_setting.setdefault(values_label(values[label], keys), {})[label] = trials
    return [
        replace(_moves_of(results, next(iter(labels.values())), words), variants=frozenset(labels))
        for words, labels in of_setting.items()
    ]


def _moves_of(results: Results, trials: Sequence[str], words: str) -> Moves:
    columns = ["start_s", "end_s", "ended"]
    tables = [table for trial in trials if (table := results.table("sessions", trial, columns)) is not None]
    joins = [at for table in tables for at in table["start_s"].drop_null().to_pylist()]
    left = [table.filter(pc.field("ended") != "trial end") for table in tables]
    leaves = [at for table in left for at in table["end_s"].drop_null().to_pylist()]
    return Moves(joins, leaves, len(trials), words)


def _mark(name: str, asked: Mapping[str, Any]) -> Mark:
    begins = parse_duration(asked.get("at", "0 s"))
    lasts = asked.get("for") or asked.get("within")
    return Mark(begins, name, None if lasts is None else begins + parse_duration(lasts))
