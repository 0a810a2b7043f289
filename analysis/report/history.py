"""The measures of an experiment over its runs: what each run measured, and where it changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.charts.results import Results, ResultsError
from analysis.report.compare import Row, Value
from emulator.experiment.file.keys import suggestion
from emulator.experiment.run.directory import RunDirectory

_FIRST = 6
"""The measures that are told unless others are asked for."""


@dataclass(frozen=True, slots=True)
class Past:
    """The value of a measure in one run."""

    run: Path
    created: str
    """The time at which it was analysed, as its summary says."""
    version: str
    """The version of Trellis that ran it, with that of its sources if it is known."""
    value: Value
    step: str
    """The difference from the run before in a word: better, worse or changed; "" if seeds can tell none."""


@dataclass(frozen=True, slots=True)
class History:
    """A measure of a variant over the runs, the oldest first."""

    variant: str
    label: str
    """A short name of the variant."""
    measure: str
    title: str
    unit: str
    better: str | None
    past: list[Past]


def histories(runs: Sequence[RunDirectory], measures: Sequence[str] = ()) -> list[History]:
    """Return the history of each measure of each variant that the youngest of these runs has.

    Without `measures` these are the first ones of which it is known what is better. A step is a difference
    from the run before that had the measure, of which the 95 % intervals do not overlap. Raises ResultsError
    if a run was not analysed, or if no run has a measure.
    """
    found = sorted((Results.read(run) for run in runs), key=lambda results: str(results.summary["created"]))
    known = {name: about for results in found for name, about in results.measures.items()}
    for name in measures:
        if name not in known:
            raise ResultsError(f'no run has the measure "{name}". {suggestion(name, known)}')
    chosen = list(measures) or [name for name, about in known.items() if about.get("better")][:_FIRST]
    return [
        history
        for variant in (each["variant"] for each in found[-1].variants)
        for name in chosen
        if (history := _history(found, variant, name)).past
    ]


def _history(found: Sequence[Results], variant: str, measure: str) -> History:
    about = next(each.measures[measure] for each in reversed(found) if measure in each.measures)
    title, unit, better = about["title"], about["unit"], about.get("better")
    past: list[Past] = []
    for results in found:
        value = Value.read(results, variant, measure)
        if value is None:
            continue
        before = past[-1].value if past else None
        row = Row(variant, measure, title, unit, better, "", before, value)
        created, version = str(results.summary["created"]), _version(results.summary["versions"])
        past.append(Past(results.run.path, created, version, value, _step(row)))
    return History(variant, found[-1].labels[variant], measure, title, unit, better, past)


def _version(versions: Mapping[str, str]) -> str:
    git = versions.get("git")
    return f"{versions['trellis']} ({git})" if git else versions["trellis"]


def _step(row: Row) -> str:
    if row.difference is None or row.difference == 0 or row.overlap is not False or row.lacking:
        return ""
    return {"B is better": "better", "B is worse": "worse"}.get(row.reading, "changed")
