"""What a protocol hands up of a package's operations is a table, of which measures are made."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from fleet_toys import PATH

pytestmark = pytest.mark.timeout(600)  # the first test waits for the run
EXPERIMENT = """\
name: walks
system: {name: walkers}
peers: 12
network: {latency: {kind: constant, rtt: 20 ms}}
workload:
  tokens: {tokens: 12, badges: true}
phases: {join: 2 s, settle: 2 s, measure: 6 s, drain: 2 s}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that a program which finds the toys' package has made and analysed."""
    folder = tmp_path_factory.mktemp("walks")
    (folder / "walks.yaml").write_text(EXPERIMENT)
    command = [sys.executable, "-c", "from trellis.command.cli import main; main()", "run", "walks.yaml"]
    done = subprocess.run(
        [*command, "--out", "runs"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": PATH},
        capture_output=True,
        text=True,
        timeout=580,
    )
    assert done.returncode == 0, done.stderr
    (made,) = (folder / "runs").iterdir()
    return made


def rows(run: Path, table: str) -> list[dict[str, Any]]:
    found = ds.dataset(run / "tables" / table, format="parquet", partitioning="hive").to_table()
    told: list[dict[str, Any]] = found.to_pylist()
    return told


def test_completions_are_a_table_with_the_operation_that_they_end(run: Path) -> None:
    walks = {row["trace"]: row for row in rows(run, "operations") if row["operation"] == "walk"}
    ends = rows(run, "completions")
    assert sorted(walk["number"] for walk in walks.values()) == list(range(12))
    assert [row["operation"] for row in ends] == ["walk"] * 12
    for end in ends:
        walk = walks[end["trace"]]
        assert (end["number"], end["hops"], end["value"]) == (walk["number"], 3, 1.0)
        assert end["at_s"] == pytest.approx(walk["at_s"] + 3 * 0.010, abs=1e-6)
        assert end["at_s"] == pytest.approx(walk["last_s"], abs=1e-9)
    assert [row["at_s"] for row in ends] == sorted(row["at_s"] for row in ends)


def test_a_completion_is_a_span_of_its_operation(run: Path) -> None:
    hops = {row["span"]: row for row in rows(run, "hops")}
    for end in rows(run, "completions"):
        hop = hops[end["span"]]
        assert (hop["trace"], hop["peer"], hop["number"]) == (end["trace"], end["peer"], end["number"])
        assert hop["delivered"]


def test_measures_of_a_package_are_made_of_completions(run: Path) -> None:
    (trial,) = json.loads((run / "summary.json").read_text())["trials"]
    measured = trial["measures"]
    assert not trial.get("unmeasured")
    assert (measured["arrivals"], measured["badges_met"]) == (12, 1.0)
    assert measured["walk_s"] == pytest.approx(0.03, abs=1e-6)
