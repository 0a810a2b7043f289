"""Telemetry tells of each thing that an application was handed, and of nothing else, also under churn."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from repairing_toy import REPAIRING
from told_and_handed import check_spans, check_tables

from emulator.contract.registry import SYSTEMS
from emulator.experiment.run.directory import RunDirectory
from emulator.runtime.virtual.run_virtual import run_virtual
from emulator.telemetry import names
from emulator.testing.trial_spans import read_spans
from emulator.testing.witnessed_trials import OWN_SYSTEMS, WitnessedTrial, run_witnessed, spec_of, told

pytestmark = pytest.mark.xdist_group("spark")  # so that the trials run once
HAND_OVER = [name for name in OWN_SYSTEMS if SYSTEMS[name].serves != "membership"]
"""The systems whose peers are handed anything."""
ALL = [*HAND_OVER, REPAIRING.name]


def run_one(system: str, run: RunDirectory, ledger: Path) -> WitnessedTrial:
    spec = spec_of(system, ledger, peers=40)
    return run_witnessed(spec, run, lambda *of: run_virtual(*of, lambda progress: None))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    return RunDirectory(tmp_path_factory.mktemp("told") / "run")


@pytest.fixture(scope="module")
def trials(run: RunDirectory) -> dict[str, WitnessedTrial]:
    return {system: run_one(system, run, run.path.parent / system) for system in ALL}


@pytest.mark.parametrize("system", ALL)
def test_spans_on_the_virtual_clock_tell_what_was_handed_and_when(
    system: str, trials: dict[str, WitnessedTrial]
) -> None:
    trial = trials[system]
    assert len(trial.handed) > 200
    check_spans(trial)
    found, handed = sorted(told(trial.directory)), sorted(trial.handed)
    assert [each.at for each in found] == pytest.approx([each.at for each in handed], abs=1e-6)


def test_tables_of_the_virtual_clock_tell_what_was_handed(
    spark: SparkSession, run: RunDirectory, trials: dict[str, WitnessedTrial]
) -> None:
    check_tables(spark, run, list(trials.values()))


def test_the_toy_delivers_in_every_way(trials: dict[str, WitnessedTrial]) -> None:
    """This peer delivers on a message's span, beside it, and outside of any operation."""
    found = read_spans(trials[REPAIRING.name].directory.telemetry)
    spans = {span.span: span for span in found}
    ways = Counter(
        (span.name, spans[span.parent].name if span.parent else "")
        for span in found
        if span.attributes.get(names.DELIVERED)
    )
    on_messages = sum(count for (name, _), count in ways.items() if name == "EventData")
    beside_messages = sum(
        n for (name, parent), n in ways.items() if (name, parent) == ("delivery", "EventData")
    )
    alone = ways["delivery", ""]
    assert min(on_messages, beside_messages, alone) > 10, ways
    assert {span.name for span in found} >= {"recovery", "Notification", "Pull", "Goodbye"}
