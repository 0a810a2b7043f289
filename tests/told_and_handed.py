"""Witnessed trials held against their spans and tables."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from pyspark.sql import SparkSession

from analysis.contract.trials import TrialRecord
from analysis.tables.build_tables import tables_on_demand
from emulator.testing.witness import Handed
from emulator.testing.witnessed_trials import WitnessedTrial, told, without_time


def check_spans(trial: WitnessedTrial) -> None:
    """Check that each delivery is told by one span, and that no span tells of another."""
    assert without_time(told(trial.directory)) == without_time(trial.handed)


def _record(trial: WitnessedTrial) -> TrialRecord:
    """Return the trial as the analysis sees it."""
    directory = trial.directory
    fidelity = json.loads(directory.fidelity.read_text())
    return TrialRecord(directory.path.name, "", {}, trial.spec, directory, {}, fidelity)


def check_tables(spark: SparkSession, folder: Path, trials: list[WitnessedTrial]) -> None:
    """Check that the tables of all these trials tell of what applications were handed, one by one, and of
    nothing else. They are made in an empty folder."""
    tables = tables_on_demand(spark, folder, [_record(trial) for trial in trials])
    names = ("deliveries", "lookups", "completions")
    deliveries, lookups, completions = ([row.asDict() for row in tables[name].collect()] for name in names)
    for trial in trials:
        name = trial.directory.path.name
        events = {
            (row["event"], row["peer"]): (row["hops"], row["repeated"] + 1)
            for row in deliveries
            if row["trial"] == name and row["delivered"]
        }
        ends = {
            row["lookup"]: (row["peer"], row["hops"], row["copies"])
            for row in lookups
            if row["trial"] == name and row["copies"]
        }
        first: dict[tuple[str, int, int], Handed] = {}
        counts: Counter[tuple[str, int, int]] = Counter()
        for each in sorted(trial.handed, key=lambda each: each.at):
            where = each.what, each.number, each.peer if each.what == "event" else -1
            first.setdefault(where, each)
            counts[where] += 1
        assert events == {
            (each.number, each.peer): (each.hops, counts[where])
            for where, each in first.items()
            if each.what == "event"
        }, name
        assert ends == {
            each.number: (each.peer, each.hops, counts[where])
            for where, each in first.items()
            if each.what == "lookup"
        }, name
        complete = Counter(
            (row["operation"], row["number"], row["peer"], row["hops"])
            for row in completions
            if row["trial"] == name
        )
        handed = (each for each in trial.handed if each.what not in ("event", "lookup"))
        assert complete == without_time(handed), name
