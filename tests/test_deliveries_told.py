"""Telemetry tells of each thing that an application was handed, and of nothing else, also under churn."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from repairing_toy import REPAIRING
from told_and_handed import OWN_SYSTEMS, Trial, check_tables, run_trial, spec_of, told

from emulator.experiment.run.directory import RunDirectory
from emulator.runtime.virtual.run import run_virtual
from emulator.telemetry import names

pytestmark = pytest.mark.xdist_group("spark")  # so that the trials run once
ALL = [*OWN_SYSTEMS, REPAIRING.name]


def run_one(system: str, run: RunDirectory, ledger: Path) -> Trial:
    spec = spec_of(system, ledger, peers=40)
    return run_trial(spec, run, lambda *of: run_virtual(*of, lambda progress: None))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return RunDirectory(tmp_path_factory.mktemp("told") / "run")


@pytest.fixture(scope="module")
def trials(run: RunDirectory) -> dict[str, Trial]:
    return {system: run_one(system, run, run.path.parent / system) for system in ALL}


@pytest.mark.parametrize("system", ALL)
def test_spans_on_the_virtual_clock_tell_what_was_handed_and_when(
    system: str, trials: dict[str, Trial]
) -> None:
    trial = trials[system]
    assert len(trial.handed) > 200
    trial.check_spans()
    found, handed = sorted(told(trial.outcome)), sorted(trial.handed)
    assert [each.at for each in found] == pytest.approx([each.at for each in handed], abs=1e-6)


def test_tables_of_the_virtual_clock_tell_what_was_handed(
    spark: SparkSession, run: RunDirectory, trials: dict[str, Trial]
) -> None:
    check_tables(spark, run, list(trials.values()))


def test_the_toy_delivers_in_every_way(trials: dict[str, Trial]) -> None:
    """On a message's span, beside it, and outside of any operation."""
    outcome = trials[REPAIRING.name].outcome
    spans = {span.span: span for span in outcome.spans}
    ways = Counter(
        (span.name, spans[span.parent].name if span.parent else "")
        for span in outcome.spans
        if span.attributes.get(names.DELIVERED)
    )
    on_messages = sum(count for (name, _), count in ways.items() if name == "EventData")
    beside_messages = sum(
        n for (name, parent), n in ways.items() if (name, parent) == ("delivery", "EventData")
    )
    alone = ways["delivery", ""]
    assert min(on_messages, beside_messages, alone) > 10, ways
    assert {span.name for span in outcome.spans} >= {"recovery", "Notification", "Pull", "Goodbye"}
