"""Telemetry tells of each thing that an application was handed, and of nothing else, also under churn."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path

import pytest
from fleet_toys import PATH
from pyspark.sql import SparkSession
from repairing_toy import REPAIRING
from told_and_handed import check_spans, check_tables

from emulator.contract.registry import SYSTEMS
from emulator.experiment.run.directory import RunDirectory
from emulator.fleet.processes import run_processes
from emulator.runtime.virtual.run_virtual import run_virtual
from emulator.telemetry import names
from emulator.testing.trial_spans import read_spans
from emulator.testing.witnessed_trials import (
    OWN_SYSTEMS,
    WitnessedTrial,
    run_witnessed,
    spec_of,
    told,
    without_time,
)

pytestmark = [
    pytest.mark.xdist_group("spark"),  # so that the trials run once
    pytest.mark.timeout(600),  # the trials of all systems run before the first test
]
HAND_OVER = [name for name in OWN_SYSTEMS if SYSTEMS[name].serves != "membership"]
"""The systems whose peers are handed anything."""
ALL = [*HAND_OVER, REPAIRING.name]
_OF_PARTS = {
    "gossipsub-broadcast",
    *("scribe-pastry", "scribe-small-world", "scribe-chord", "scribe-kademlia"),
    *("magnet-pastry", "magnet-small-world", "magnet-chord", "magnet-kademlia"),
    *("quasar-pastry", "quasar-oscar", "quasar-small-world", "quasar-chord", "quasar-kademlia"),
    *("values-pastry", "values-oscar", "values-small-world"),
}
"""Systems whose overlay and dissemination are those of others; the virtual clock runs all of them."""
_OVERLAYS = {"chord", "kademlia", "oscar"}
"""Overlays that values, Scribe or Magnet use in processes, too. Lookups are handed there by two others."""
IN_PROCESSES = [name for name in ALL if name not in _OF_PARTS | _OVERLAYS]
TABLES_OF_VIRTUAL = [name for name in ALL if name not in _OF_PARTS or name == "quasar-oscar"]
"""Systems each of which tells in a way of its own, and walks over an overlay with lookups: rows of tables
come from spans, which tests compare for all systems, and not from systems."""
TABLES_OF_REAL = ["gossipsub", "li", "pastry", "small-world", "values-chord", "flood-cyclon", REPAIRING.name]
"""Some of each kind of workload: only clocks, files and processes of hosts differ from the virtual clock."""
_AT_ONCE = 2
"""Trials in processes that run beside each other: each waits most of its time."""
_ENOUGH = 40
"""The least deliveries of a valid trial, and of trials on average. Kyra delivered fewer on a busy machine,
and the verdict called that trial invalid, as joins were late."""


def run_one(system: str, folder: Path) -> WitnessedTrial:
    spec = spec_of(system, folder / system, peers=20, measure="20 s")
    return run_witnessed(
        spec, RunDirectory(folder / "run"), lambda *of: run_virtual(*of, lambda progress: None)
    )


def run_in_processes(system: str, folder: Path) -> WitnessedTrial:
    runtime = {"kind": "processes", "hosts": 2, "time_scale": 0.25}
    spec = spec_of(system, folder / f"{system}-hosts", peers=24, measure="9 s", runtime=runtime)
    trial = run_witnessed(
        spec, RunDirectory(folder / "run"), lambda *of: run_processes(*of, lambda progress: None)
    )
    assert len(trial.handed) > _ENOUGH or trial.fidelity.reasons, system
    check_spans(trial)
    return trial


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("told")


@pytest.fixture(scope="module")
def trials(folder: Path) -> dict[str, WitnessedTrial]:
    return {system: run_one(system, folder) for system in ALL}


@pytest.mark.parametrize("system", ALL)
def test_spans_on_the_virtual_clock_tell_what_was_handed_and_when(
    system: str, trials: dict[str, WitnessedTrial]
) -> None:
    trial = trials[system]
    assert len(trial.handed) > 100
    found, handed = sorted(told(trial.directory)), sorted(trial.handed)
    assert without_time(found) == without_time(handed)
    assert [each.at for each in found] == pytest.approx([each.at for each in handed], abs=1e-6)


@pytest.mark.timeout(900)
def test_spans_and_tables_of_both_runtimes_tell_what_was_handed(
    spark: SparkSession,
    folder: Path,
    trials: dict[str, WitnessedTrial],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All these systems in one test: each query on the tables is one for all trials."""
    monkeypatch.setenv("PYTHONPATH", PATH)
    with ProcessPoolExecutor(_AT_ONCE, get_context("spawn")) as pool:
        real = list(pool.map(run_in_processes, IN_PROCESSES, repeat(folder)))
    assert sum(len(trial.handed) for trial in real) > _ENOUGH * len(real)
    virtual = [trials[name] for name in TABLES_OF_VIRTUAL]
    check_tables(spark, tmp_path, [*virtual, *(real[IN_PROCESSES.index(name)] for name in TABLES_OF_REAL)])


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
