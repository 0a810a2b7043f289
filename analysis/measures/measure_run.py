"""Measures of trials, from their tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from analysis.contract.measures import STATE_PREFIX, Measure, MeasureGroup, Query, Tables
from analysis.contract.packages import Brought
from analysis.contract.trouble import FAILURES, NoTable, Trouble, Unfit
from analysis.measures.applicable import Asked, Trial, asked_of
from analysis.measures.catalogue import describe
from analysis.tables.observations import Unmeasured, gauges

_AT_ONCE = 3
"""The number of queries that Spark runs at a time: planning each keeps one core busy."""
Values = dict[str, float | None]
"""The measures of a trial by name. One is None where there is nothing to measure it by."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The measures of trials, and reports of those that could not be had."""

    values: dict[str, Values]
    """The values of each trial."""
    about: dict[str, Measure]
    """The description of each measure, by name."""
    unmeasured: dict[str, dict[str, str]] = field(default_factory=dict)
    """The reasons why measures have no value, by trial and name; only for those that failed, or gave no
    number."""
    troubles: list[Trouble] = field(default_factory=list)
    """Reports of what packages bring and was refused."""
    of_parts: dict[str, dict[str, Values]] = field(default_factory=dict)
    """The values of each trial for the parts of it that the experiment's expectations are about, by the text
    of the part."""
    not_numbers: dict[str, list[Unmeasured]] = field(default_factory=dict)
    """The values that components gave as NaN or infinity, by trial."""


def measure(tables: Tables) -> dict[str, Values]:
    """Return all measures of each trial."""
    return measure_all(tables).values


def measure_all(tables: Tables, only: Set[str] | None = None) -> Measured:
    """Return all measures of each trial. What fails of a package is not measured; the rest is.

    With `only`, queries that are known to give none of these measures are not asked.
    """
    rows = tables["trials"].collect()
    asked, troubles = asked_of([Trial(row.trial, row.serves, row.system, row.has_faults) for row in rows])
    found = Measured({row.trial: {} for row in rows}, {}, troubles=troubles)
    for one in asked:
        found.about.update(one.group.item.measures)
    if only is not None:
        asked = [one for one in asked if not only.isdisjoint(one.group.item.measures)]
    queries = [_enough(one.group, only) for one in asked]
    for one, chosen in zip(asked, queries, strict=True):
        is_whole = len(chosen) == len(one.group.item.queries)
        given = {name for query in chosen for name in one.group.item.of_parts.get(query, ())}
        zero = {name: 0.0 for name in one.group.item.zero if is_whole or name in given}
        for trial in one.trials:
            found.values[trial] |= dict.fromkeys(one.group.item.measures) | zero
    with_states = only is None or any(name.startswith(STATE_PREFIX) for name in only)
    answers = _answers(tables, asked, queries, with_states)
    for one in asked:
        _take(found, one, [answer for answer in answers if answer.asked is one])
    if with_states:
        _take_states(found, tables, answers[-1])
    return found


def _enough(group: Brought[MeasureGroup], only: Set[str] | None) -> Sequence[Query]:
    """Return the queries of a group that give all of its measures among these.

    The measures that a query gives are known where it can also be asked about a part of a trial. If others
    are wanted, or the group is a package's, all queries are asked.
    """
    of = group.item
    if only is None or group.package:
        return of.queries
    known = {query: names for query, names in of.of_parts.items() if query in of.queries}
    if not only & of.measures.keys() <= {name for names in known.values() for name in names}:
        return of.queries
    return [query for query, names in known.items() if not only.isdisjoint(names)]


def _take_states(found: Measured, tables: Tables, states: _Answer) -> None:
    """Note the means of what peers told of their own state."""
    declared = gauges(tables)
    for row in sorted(_rows(states), key=lambda row: (row.trial, row.name)):
        name = STATE_PREFIX + row.name
        found.about[name] = describe(name, declared)
        found.values[row.trial][name] = _number(found, row.trial, name, row.value)


@dataclass(frozen=True, slots=True)
class _Answer:
    """The answer to a query of a group: rows, or an error."""

    asked: Asked | None
    rows: Sequence[Row] = ()
    columns: Sequence[str] = ()
    """The columns of a package's query; empty for Trellis' own."""
    error: BaseException | None = None


def _rows(answer: _Answer) -> Sequence[Row]:
    if answer.error is not None:
        raise answer.error
    return answer.rows


def _answers(
    tables: Tables, asked: Sequence[Asked], queries: Sequence[Sequence[Query]], with_states: bool
) -> list[_Answer]:
    """Return the answers of the queries of each group, and of the states.

    Spark runs each query while the next one is planned.
    """

    def questions() -> Iterator[tuple[Asked | None, DataFrame | BaseException]]:
        for one, chosen in zip(asked, queries, strict=True):
            for query in chosen:
                try:
                    yield one, _checked(one.group, query(_Known(tables)))
                except FAILURES as error:
                    yield one, error
        if with_states:
            yield None, _states(tables)

    def answer(question: tuple[Asked | None, DataFrame | BaseException]) -> _Answer:
        one, frame = question
        if isinstance(frame, BaseException):
            return _Answer(one, error=frame)
        try:
            columns = frame.columns if one is not None and one.group.package else ()
            return _Answer(one, frame.collect(), columns)
        except FAILURES as error:
            return _Answer(one, error=error)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(answer, questions()))


class _Known(Mapping[str, DataFrame]):
    """Tables by name; the error for one that is not there names it."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def __getitem__(self, name: str) -> DataFrame:
        try:
            return self._tables[name]
        except KeyError:
            raise NoTable(f'there is no table "{name}" in this run') from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


def _checked(group: Brought[MeasureGroup], frame: DataFrame) -> DataFrame:
    """Return the frame of a query, if a package's has one row a trial of its measures. Raises Unfit."""
    if not group.package:
        return frame
    if not isinstance(frame, DataFrame):
        raise Unfit(f"a query gives a {type(frame).__name__}, not a DataFrame")
    if "trial" not in frame.columns:
        raise Unfit("a query gives no column trial")
    if twice := [name for name, count in Counter(frame.columns).items() if count > 1]:
        raise Unfit(f"a query gives several columns of the name {', '.join(twice)}")
    if more := [name for name in frame.columns if name != "trial" and name not in group.item.measures]:
        known = ", ".join(group.item.measures)
        raise Unfit(f"a query gives the column {', '.join(more)}, which is none of its measures: {known}")
    return frame


def _take(found: Measured, asked: Asked, answers: Sequence[_Answer]) -> None:
    """Note the values that the queries of a group gave; a measure that none of them gave is not measured."""
    group = asked.group
    of_trials = set(asked.trials)
    given: set[str] = set()
    why: str | None = None
    for answer in answers:
        try:
            every = _rows(answer)
            if group.package and (strange := {row.trial for row in every} - found.values.keys()):
                raise Unfit(f"a query gives a row for the trial {min(map(repr, strange))}, which is none")
            rows = [row.asDict() for row in every if row.trial in of_trials]
            if group.package and len({row["trial"] for row in rows}) < len(rows):
                raise Unfit("a query gives several rows for a trial: group by trial")
            for row in rows:
                for name in row.keys() & group.item.measures.keys():
                    who = f"{group.what} of the package {group.package}: " if group.package else ""
                    found.values[row["trial"]][name] = _number(found, row["trial"], name, row[name], who)
            given.update(answer.columns)
        except FAILURES as error:
            why = group.trouble(error).text
    if group.package:
        for name in group.item.measures.keys() - given:
            text = why or group.refused("none of its queries gives a column of that name").text
            for trial in asked.trials:
                found.values[trial][name] = None
                found.unmeasured.setdefault(trial, {})[name] = text


def _number(found: Measured, trial: str, name: str, value: Any, who: str = "") -> float | None:
    """Return the value as a number; None, with a note why, if it is not finite. Raises Unfit for a text.

    The note begins with `who` made the value."""
    if value is None:
        return None
    try:
        number = float("" if isinstance(value, str) else value)
    except (TypeError, ValueError):
        raise Unfit(f'the measure "{name}" is {value!r}, which is no number') from None
    if math.isfinite(number):
        return number
    found.unmeasured.setdefault(trial, {})[name] = f"{who}its value is {number}, which is no number"
    return None


def _states(tables: Tables) -> DataFrame:
    """Return means over peers: trial, name, value.

    Where components of several channels have a gauge of one name, the channel goes before it.
    """
    means = (
        tables["states"]
        .where("moment = 'end'")
        .groupBy("trial", "name", "channel")
        .agg(F.avg("value").alias("value"))
    )
    alike = F.count("*").over(Window.partitionBy("trial", "name"))
    with_channel = F.concat_ws("/", F.when(F.col("channel") != "", F.col("channel")), F.col("name"))
    return means.select(
        "trial", F.when(alike > 1, with_channel).otherwise(F.col("name")).alias("name"), "value"
    )
