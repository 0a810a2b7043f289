"""The comparison of two runs: their measures, and what differs in how they came about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from analysis.charts.numerals import estimate, number, of_seeds, quantity, shown, with_seeds
from analysis.charts.results import Results, ResultsError
from analysis.report.page import render
from analysis.report.plan_table import plan_table
from emulator.experiment.run.directory import RunDirectory, write_whole

_NAMES = frozenset({"name", "title", "claims", "expect"})
OPEN: Final = ("intervals overlap", "one seed only")
"""The readings that leave open whether two runs differ."""


@dataclass(frozen=True, slots=True)
class Side:
    """A run, as one side of a comparison."""

    path: Path
    title: str
    valid: bool
    reasons: list[str]


@dataclass(frozen=True, slots=True)
class Value:
    """A mean over seeds with the half width of its 95 % interval; None for a single seed."""

    mean: float
    half: float | None
    seeds: int
    """The number of seeds that have a value."""
    of_seeds: int
    """The number of seeds that were measured."""

    @classmethod
    def read(cls, results: Results, variant: str, measure: str) -> Value | None:
        """Return the value that a variant has of a measure, if it has one."""
        found = [each["measures"].get(measure) for each in results.variants if each["variant"] == variant]
        told = found[0] if found else None
        if not told or told["mean"] is None:
            return None
        return cls(told["mean"], told["ci95"], told["n"], max(told["n"], results.seeds[variant]))

    @property
    def told_seeds(self) -> str:
        """The number of seeds in words, "" if all have a value."""
        return of_seeds(self.seeds, self.of_seeds)


@dataclass(frozen=True, slots=True)
class Row:
    """A measure of two matching variants. `a` or `b` is None where it was not measured."""

    variant: str
    measure: str
    title: str
    unit: str
    better: str | None
    """The better direction: lower, higher or None."""
    about: str
    a: Value | None
    b: Value | None

    @property
    def difference(self) -> float | None:
        """The difference b - a, in the measure's unit."""
        return None if self.a is None or self.b is None else self.b.mean - self.a.mean

    @property
    def relative(self) -> float | None:
        """The difference as a share of a."""
        if self.difference is None or self.a is None or self.a.mean == 0:
            return None
        return self.difference / abs(self.a.mean)

    @property
    def overlap(self) -> bool | None:
        """This is true if the confidence intervals overlap, and None if a side has none."""
        if self.difference is None or self.a is None or self.b is None:
            return None
        if self.a.half is None or self.b.half is None:
            return None
        return abs(self.difference) <= self.a.half + self.b.half

    @property
    def lacking(self) -> str:
        """The sides that have a value at some of their seeds only, in words. Such seeds are not left out by
        chance, so nothing is said of which side is better."""
        told = [(name, of.told_seeds) for name, of in (("A", self.a), ("B", self.b)) if of is not None]
        return " and ".join(f"{name} has a value at {seeds}" for name, seeds in told if seeds)

    @property
    def is_open(self) -> bool:
        """This is true if it is open whether the sides differ."""
        return self.reading in OPEN or (self.difference is not None and bool(self.lacking))

    @property
    def reading(self) -> str:
        """The interpretation of the row in words."""
        if self.difference is None:
            return "measured on one side only"
        if self.lacking:
            way = (
                "the same" if not self.difference else "B is higher" if self.difference > 0 else "B is lower"
            )
            return f"not decided: {way}, but {self.lacking}"
        if self.difference == 0:
            return "equal"
        if self.overlap:
            return OPEN[0]
        if self.overlap is None:
            return OPEN[1]
        better = {"lower": self.difference < 0, "higher": self.difference > 0}.get(self.better or "")
        return "differs" if better is None else f"B is {'better' if better else 'worse'}"

    @property
    def texts(self) -> tuple[str, str, str, str]:
        """The values a and b, their difference and the relative difference as they are shown."""
        a, b = (
            number(None) if v is None else with_seeds(estimate(v.mean, v.half, self.unit), v.told_seeds)
            for v in (self.a, self.b)
        )
        if self.difference is None:
            return a, b, number(None), ""
        relative = "" if self.relative is None else _signed(self.relative, quantity(self.relative, "share"))
        return a, b, _signed(self.difference, number(shown(self.difference, self.unit))), relative


@dataclass(frozen=True, slots=True)
class Change:
    """Something in which the runs differ."""

    about: str
    """The subject: experiment, plan, versions, machine or seeds."""
    key: str
    a: str
    b: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """The whole comparison of two runs."""

    a: Side
    b: Side
    rows: list[Row]
    """The rows by variant; measures in the order of the summaries."""
    changes: list[Change]
    only_a: list[str]
    """The variants that only the first run has."""
    only_b: list[str]
    labels: dict[str, str]
    """A short name for each variant of the rows."""


def compare(a: RunDirectory, b: RunDirectory, out: Path | None = None) -> Comparison:
    """Compare two analyzed runs and, if `out` is given, write the comparison there as a page.

    Variants match by name; two runs of a single variant each match in any case. Raises
    `analysis.charts.results.ResultsError` if a run was not analyzed or `out` cannot be written.
    """
    first, second = Results.read(a), Results.read(b)
    matches = _matches(first, second)
    found = Comparison(
        _side(first),
        _side(second),
        [row for x, y in matches for row in _rows(first, second, x, y)],
        [*_experiment(first, second), *_plans(first, second), *_surroundings(first, second)],
        _unmatched(first, {x for x, _ in matches}),
        _unmatched(second, {y for _, y in matches}),
        {_both(x, y): _both(first.labels[x], second.labels[y]) for x, y in matches},
    )
    if out is not None:
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            write_whole(out, render("compare.html", comparison=found))
        except OSError as error:
            raise ResultsError(f"{out} cannot be written: {error.strerror}") from None
    return found


def _side(results: Results) -> Side:
    summary = results.summary
    title = summary.get("title") or summary.get("experiment") or results.run.path.name
    return Side(results.run.path, str(title), bool(summary["valid"]), list(summary.get("reasons") or []))


def _matches(a: Results, b: Results) -> list[tuple[str, str]]:
    names = [variant["variant"] for variant in a.variants]
    others = [variant["variant"] for variant in b.variants]
    if len(names) == len(others) == 1:
        return [(names[0], others[0])]
    return [(name, name) for name in names if name in others]


def _unmatched(results: Results, matched: set[str]) -> list[str]:
    return [results.labels[v["variant"]] for v in results.variants if v["variant"] not in matched]


def _both(a: str, b: str) -> str:
    return a if a == b else f"{a} and {b}"


def _rows(a: Results, b: Results, x: str, y: str) -> Iterator[Row]:
    for name, about in (dict(b.measures) | dict(a.measures)).items():
        values = Value.read(a, x, name), Value.read(b, y, name)
        if values != (None, None):
            kind = about.get("better")
            meaning = str(about.get("about") or "")
            yield Row(_both(x, y), name, about["title"], about["unit"], kind, meaning, *values)


def _experiment(a: Results, b: Results) -> Iterator[Change]:
    ours, theirs = _flat(a.experiment), _flat(b.experiment)
    for key in [k for k in ours | theirs if k not in _NAMES]:
        if ours.get(key) != theirs.get(key):
            yield Change("experiment", key, _text(ours.get(key)), _text(theirs.get(key)))


def _plans(a: Results, b: Results) -> Iterator[Change]:
    """Yield the tables of the plan that differ between trials of the same name."""
    names = {trial["trial"] for trial in a.trials} & {trial["trial"] for trial in b.trials}
    plans = [run.trial(name).plan for name in sorted(names) for run in (a.run, b.run)]
    for table in sorted({path.stem for plan in plans for path in plan.glob("*.parquet")}):
        differing = []
        for name in sorted(names):
            ours, theirs = (plan_table(run, name, table) for run in (a.run, b.run))
            same = ours is theirs if ours is None or theirs is None else ours.equals(theirs)
            if not same:
                differing.append((name, ours, theirs))
        if differing:
            name, ours, theirs = differing[0]
            where = f"{table} ({len(differing)} of {len(names)} trials, first {name})"
            sizes = _size(ours), _size(theirs)
            yield Change("plan", where, sizes[0], sizes[1] + (", others" if sizes[0] == sizes[1] else ""))


def _size(table: pa.Table | None) -> str:
    return "missing" if table is None else f"{number(table.num_rows)} rows"


def _surroundings(a: Results, b: Results) -> Iterator[Change]:
    for about in ("versions", "machine"):
        ours, theirs = (_flat(results.summary.get(about) or {}) for results in (a, b))
        for key in ours | theirs:
            if ours.get(key) != theirs.get(key):
                yield Change(about, key, _text(ours.get(key)), _text(theirs.get(key)))
    seeds = [sorted({trial["seed"] for trial in results.trials}) for results in (a, b)]
    if seeds[0] != seeds[1]:
        yield Change("seeds", "seeds run", _text(seeds[0]), _text(seeds[1]))


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested keys as dotted ones, without empty parts."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            flat |= _flat(value, f"{prefix}{key}.")
        elif value not in ({}, []):
            flat[f"{prefix}{key}"] = value
    return flat


def _text(value: Any) -> str:
    if value is None:
        return number(None)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _signed(value: float, text: str) -> str:
    return f"+{text}" if value > 0 else text
