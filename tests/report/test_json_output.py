"""The commands that show tables print the same as JSON if `--json` asks for it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from emulator.contract.registry import SYSTEMS
from emulator.experiment.run.directory import RunDirectory
from trellis.command.cli import app

EXPERIMENT = """\
name: small
system: {name: vitis}
peers: 10
repeat: 2
vary: {peers: [10, 20, 30]}
workload:
  subscriptions: {kind: random, topics: 20, per_peer: 2, buckets: 1}
"""


def printed(*arguments: object) -> Any:
    """Return what the command prints on its standard output, read as JSON."""
    result = CliRunner().invoke(app, [*map(str, arguments), "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture
def run(make_run: Callable[..., RunDirectory]) -> RunDirectory:
    """An analyzed run whose experiment file the command accepts."""
    made = make_run()
    made.experiment.write_text(EXPERIMENT)
    return made


def test_all_systems_are_listed_and_a_named_one_alone() -> None:
    assert [system["name"] for system in printed("systems")] == list(SYSTEMS)
    (vitis,) = printed("systems", "vitis")
    assert "IPDPS 2011" in vitis["paper"]


def test_a_parameter_has_its_default_as_an_experiment_file_has_it() -> None:
    systems = {system["name"]: system for system in printed("systems", "vitis", "scribe-pastry")}
    parameters = {each["name"]: each for each in systems["vitis"]["parameters"]}
    assert parameters["gateway_hops"]["default"] == 5
    assert not parameters["gateway_hops"]["required"]
    overlay = systems["scribe-pastry"]["parameters"][0]
    assert overlay["name"] == "overlay" and "default" not in overlay


def test_validate_tells_what_would_run(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(EXPERIMENT)
    assert printed("validate", file, "--set", "network.latency={kind: constant, rtt: 50 ms}") == {
        "valid": True,
        "trials": 6,
        "variants": 3,
        "seeds": 2,
        "labels": {f"vitis.peers={peers}": f"peers {peers}" for peers in (10, 20, 30)},
        "plans": 6,
        "plans_drawn": 6,
        "inputs": [],
        "warnings": [],
        "sizes": {
            "peers": [10, 30],
            "sessions": [10, 30],
            "subscriptions": [20, 60],
            "publications": [200, 200],
        },
        "trial_s": [80, 80],
        "rtt_ms": {"p5": [50, 50], "p50": [50, 50], "p95": [50, 50]},
        "expected": {
            "trials": 6,
            "processor_s": 1.2,
            "memory_bytes": 166142517,
            "within": 3.2,
            "as_others": [],
            "not_counted": [],
            "not_measured": [],
            "why_not": {},
        },
    }


def test_two_runs_are_compared_measure_by_measure(run: RunDirectory) -> None:
    (comparison,) = printed("compare", run.path, run.path)
    assert comparison["a"]["path"] == str(run.path)
    row = comparison["rows"][0]
    assert row["difference"] == 0 and row["reading"] == "equal"
    assert row["a"]["mean"] == row["b"]["mean"]


def test_the_variants_of_a_run_are_compared_by_a_key(run: RunDirectory) -> None:
    pairs = printed("compare", run.path, "--between", "system.name")
    assert [(pair["base"], pair["other"]) for pair in pairs] == [("vitis", "rvr")] * 3
    assert all(each["reading"] and each["by"]["n"] >= 1 for each in pairs[0]["differences"])


def test_the_experiments_of_a_paper_are_told_with_run_or_command(
    run: RunDirectory, make_run: Callable[..., RunDirectory], tmp_path: Path
) -> None:
    unreadable = make_run("unreadable")
    unreadable.experiment.write_text("name: other\n")
    unreadable.summary.write_text("{}")
    paper = tmp_path / "paper"
    paper.mkdir()
    for name in ("missing", "other", "small"):
        (paper / f"{name}.yaml").write_text(f"name: {name}\ntitle: The {name} one\n")
    told = printed("figures", paper, "--in", tmp_path, "--out", tmp_path / "page.html")
    assert Path(told["page"]).is_file()
    missing, other, small = told["experiments"]
    assert (missing["run"], missing["valid"], missing["title"]) == (None, None, "The missing one")
    assert missing["command"] == f"trellis run {paper / 'missing.yaml'}"
    assert (other["run"], other["valid"]) == (str(unreadable.path), None)
    assert "trellis analyze" in other["problem"]
    assert (small["run"], small["valid"], small["problem"]) == (str(run.path), True, "")
    assert [number["paper"] for claim in small["claims"] for number in claim["numbers"]]


def test_messages_are_told_with_their_names_and_kinds(tmp_path: Path) -> None:
    file = tmp_path / "tea.proto"
    file.write_text(
        'syntax = "proto3";\npackage tea;\nimport "trellis/v1/options.proto";\n'
        "// A leaf.\nmessage Leaf { uint32 age = 1; }\n"
        "// A cup.\nmessage Cup { option (trellis.v1.kind) = EVENT; Leaf leaf = 1; }\n"
    )
    (made,) = printed("messages", file, "--include", tmp_path)
    assert made["file"] == str(tmp_path / "tea.py")
    told = {each["class"]: (each["name"], each["kind"]) for each in made["messages"]}
    assert told == {"Leaf": ("", "part"), "Cup": ("tea.Cup", "event")}


@pytest.mark.parametrize(("page", "before"), [("README.md", "after"), ("docs/runs.md", "makes")])
def test_pages_name_each_command_that_prints_json(page: str, before: str) -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    printing = {name for name, of in commands.items() if any("--json" in each.opts for each in of.params)}
    text = (Path(__file__).parents[2] / page).read_text()
    line = next(line for line in text.splitlines() if f"`--json` {before} `trellis systems`" in line)
    told = re.findall(r"`(?:trellis )?([a-z-]+)`", line.partition(f"`--json` {before}")[2])
    assert sorted(told) == sorted(printing)
