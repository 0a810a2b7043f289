"""A package's own kind of workload, on both runtimes; and what is told of one that is wrong."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from fleet_toys import PATH
from forked_programs import COMMAND, run_program
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from emulator.telemetry.otlp_files import read_records
from emulator.workload import spec

HEAD = """\
name: walks
system: {name: SYSTEM}
peers: 12
network: {latency: {kind: constant, rtt: 20 ms}, unreachable_after: 1 s}
phases: {join: 2 s, settle: 2 s, measure: 6 s, drain: 2 s}
fidelity: {timer_lateness_p99: 25 s, delay_error_p99: 25 s, session_error_p99: 25 s, loop_stall: 25 s}
"""
PROCESSES = "runtime: {kind: processes, hosts: 2, time_scale: 0.4}\n"
TOKENS = "workload:\n  tokens: {tokens: 12, badges: true}\n"
RUN = """\
import sys
from pathlib import Path
from emulator.experiment.file.load import load
from emulator.experiment.run.directory import TrialDirectory
from emulator.trials.trial import run_trial
from emulator.experiment.file.spec import TrialSpec

spec = load(Path(sys.argv[1]))
trial = TrialSpec.model_validate({n: getattr(spec, n) for n in TrialSpec.model_fields})
last = []
fidelity = run_trial(trial, TrialDirectory(Path(sys.argv[2])), last.append)
print(fidelity.valid, fidelity.reasons, *last[-1].words, last[-1].asked, last[-1].delivered)
"""

RENAMED = """\
import sys

from emulator.workload.table_schemas import PUBLICATIONS
from token_toys import TOKENS, PlanTable, TokensKind
from trellis.command.cli import main

made, draw, name = TOKENS.tables(), TokensKind.draw, sys.argv.pop(1)
schema = PUBLICATIONS if name == "publications" else made["badges"].schema
TokensKind.tables = lambda self: made | {name: PlanTable(schema, schema.names[0], asks=False)}
TokensKind.draw = lambda *given: draw(*given) | {name: {column: [] for column in schema.names}}
main()
"""


def python(folder: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python so that it finds the toys' package."""
    environment = os.environ | {"PYTHONPATH": PATH, "COLUMNS": "300"}
    return run_program(program, arguments, folder, environment, limit=200)


def trellis(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return python(folder, COMMAND, *arguments)


def write(folder: Path, workload: str, system: str = "walkers") -> Path:
    path = folder / "walks.yaml"
    path.write_text(HEAD.replace("SYSTEM", system) + workload)
    return path


def run(folder: Path, workload: str, system: str = "walkers") -> tuple[str, Path]:
    """Run the trial; return what progress said at the end, and the trial's folder."""
    folder.mkdir(exist_ok=True)
    trial = folder / "run" / "trials" / "walks-1"
    done = python(folder, RUN, str(write(folder, workload, system)), str(trial))
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), trial


def spans(trial: Path) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for file in sorted((trial / "telemetry").glob("*-traces-*.otlp")):
        for record in read_records(file):
            for resource in TracesData.FromString(record).resource_spans:
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        attributes = {a.key: a.value for a in span.attributes}
                        read = {k: getattr(v, v.WhichOneof("value")) for k, v in attributes.items()}
                        found.append((span.name, read))
    return found


def operations(trial: Path) -> set[tuple[Any, ...]]:
    keys = ("trellis.peer", "trellis.number", "trellis.steps")
    names = ("walk", "pin", "unpin")
    return {(name, *(of.get(key) for key in keys)) for name, of in spans(trial) if name in names}


def completions(trial: Path) -> Counter[tuple[Any, ...]]:
    keys = ("trellis.number", "trellis.hops", "trellis.value")
    return Counter(
        tuple(of.get(key) for key in keys) for _, of in spans(trial) if of.get("trellis.operation") == "walk"
    )


def test_operations_of_a_package_are_drawn_asked_and_completed_alike_on_both_runtimes(tmp_path: Path) -> None:
    told, virtual = run(tmp_path / "virtual", TOKENS)
    assert told == "True [] tokens arrived 12 12"
    told, real = run(tmp_path / "real", TOKENS + PROCESSES)
    assert told == "True [] tokens arrived 12 12"
    for table in ("walks", "badges", "sessions"):
        drawn, again = (pq.read_table(trial / "plan" / f"{table}.parquet") for trial in (virtual, real))
        assert drawn.equals(again)
    walks = pq.read_table(virtual / "plan" / "walks.parquet").to_pylist()
    asked = {("walk", row["origin"], row["token"], row["steps"]) for row in walks}
    # All hold a badge from their join on, which is no operation, and give it up while they are up.
    asked |= {("unpin", peer, peer, None) for peer in range(12)}
    assert operations(virtual) == operations(real) == asked
    # Everybody has one badge when a token arrives.
    assert completions(virtual) == completions(real) == Counter((number, 3, 1.0) for number in range(12))


def test_a_workload_of_a_package_may_have_neither_tables_nor_operations(tmp_path: Path) -> None:
    told, trial = run(tmp_path, "workload: {roll_call: {}}\n", "sleepers")
    assert told == "True [] asked done 0 0"
    names = Counter(name for name, _ in spans(trial))
    assert names["join"] == 12
    assert not names["walk"]


def test_the_installed_kinds_of_others_leave_no_trace_in_a_plan(tmp_path: Path) -> None:
    _, trial = run(tmp_path, "workload: {lookups: {rate: 1}}\n", "pastry")
    told = json.loads((trial / "plan" / "spec.json").read_text())["spec"]["workload"]
    assert sorted(told) == ["changes", "clients", "lookups", "publications", "roles", "subscriptions"]
    assert not (trial / "plan" / "walks.parquet").exists()


@pytest.mark.parametrize(
    ("tokens", "problem"),
    [
        ("{steps: 0}", "walks.yaml:8: workload.tokens.steps: is 0, but has to be at least 1"),
        ("{step: 1}", 'walks.yaml:8: workload.tokens.step: is not a known key. Did you mean "steps"?'),
        ("{steps: 13}", "walks.yaml:8: workload.tokens.steps: 13, but there are only 12 peers. Lower it"),
        ("{names: gone}", 'walks.yaml:8: workload.tokens.names: is "gone", but there is no such file'),
        (
            "{}\n  lookups: {rate: 1}",
            "walks.yaml:8: workload.tokens: is there together with workload.look",
        ),
        ("{}\n  roles: {relay: 2}", "walks.yaml:9: workload.roles: needs workload.subscriptions"),
        ("{}\n  token: {}", 'walks.yaml:9: workload.token: is not a known key. Did you mean "tokens"?'),
    ],
)
def test_what_is_wrong_is_told_by_file_and_line(tmp_path: Path, tokens: str, problem: str) -> None:
    write(tmp_path, f"workload:\n  tokens: {tokens}\n")
    told = trellis(tmp_path, "validate", "walks.yaml")
    assert (told.returncode, problem in told.stderr) == (2, True), told.stderr


@pytest.mark.parametrize(
    ("workload", "system", "problem"),
    [
        (
            "{tokens: {}}",
            "sleepers",
            "sleepers takes membership; this workload has walks of tokens: ",
        ),
        (
            "{tokens: {}}",
            "vitis",
            "takes subscriptions by topic; this workload has walks of tokens: ",
        ),
        (
            "{}",
            "walkers",
            "workload: has neither subscriptions, lookups, values, membership, broadcast, roll_call nor "
            "tokens. Add one",
        ),
    ],
)
def test_a_system_and_a_workload_have_to_fit(
    tmp_path: Path, workload: str, system: str, problem: str
) -> None:
    write(tmp_path, f"workload: {workload}\n", system)
    told = trellis(tmp_path, "validate", "walks.yaml")
    assert (told.returncode, problem in told.stderr) == (2, True), told.stderr


@pytest.mark.parametrize(
    ("mischief", "problem"),
    [
        ("peer", "table walks, has a row whose origin is not from 0 to 11"),
        ("column", "table walks, has the columns token, at_s, origin, steps, but drew token, at_s, origin"),
        ("type", "table walks, does not fit its schema"),
        ("time", "asks for an operation at a time that is not from 0 to 12 s"),
        ("table", "has the tables badges, walks, but drew walks"),
        ("error", "cannot be drawn: LookupError: nothing can be found"),
        ("exit", "cannot be drawn: SystemExit: enough"),
        ("rows", "cannot be drawn: draw returned no columns by name for each table's name"),
    ],
)
def test_a_package_that_draws_what_no_plan_can_have_is_named(
    tmp_path: Path, mischief: str, problem: str
) -> None:
    write(tmp_path, f"workload:\n  tokens: {{mischief: {mischief}}}\n")
    told = trellis(tmp_path, "plan", "walks.yaml")
    assert told.returncode == 2
    assert 'the package trellis-toys 1: its workload "tokens"' in told.stderr
    assert problem in told.stderr
    assert "Traceback" not in told.stderr


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("sessions", "has a table called sessions, as each plan has one. Rename it"),
        ("lookups", "has a table called lookups, as another one has. Rename it, or give it the same columns"),
    ],
)
def test_a_table_of_a_package_takes_no_name_of_another_one(tmp_path: Path, name: str, problem: str) -> None:
    write(tmp_path, TOKENS)
    told = python(tmp_path, RENAMED, name, "plan", "walks.yaml")
    assert told.returncode == 2
    assert problem in told.stderr


def test_a_table_of_a_package_may_be_one_of_trellis_own_with_the_same_columns(tmp_path: Path) -> None:
    """The example of block propagation draws publications; here the package draws nothing into them."""
    write(tmp_path, TOKENS)
    told = python(tmp_path, RENAMED, "publications", "plan", "walks.yaml")
    assert told.returncode == 0, told.stderr


def test_a_damaged_table_of_a_package_is_named(tmp_path: Path) -> None:
    _, trial = run(tmp_path, TOKENS)
    (trial / "plan" / "walks.parquet").write_bytes(b"nothing")
    done = python(tmp_path, RUN, str(tmp_path / "walks.yaml"), str(trial))
    assert "walks.parquet" in done.stderr
    assert "is damaged" in done.stderr


def test_a_workload_that_nobody_can_use_hinders_only_those_that_ask_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A saved experiment has each kind's key, which is null where the experiment does not ask for it."""
    monkeypatch.setitem(spec._BROKEN_KINDS, "walks", "its package is broken")
    assert list(spec.broken_parts({"walks": None})) == []
    assert list(spec.broken_parts({"walks": {}})) == [("walks", "is there, but its package is broken")]
