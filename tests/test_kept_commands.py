"""upload, runs --at, fetch and history of runs in an object store, and the upload after an analysis."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from object_store import BUCKET, SECRET, needs_object_store, object_store, variables
from release_world import job, labels

from emulator.experiment.run.directory import RunDirectory
from services.result_upload import upload_results

pytestmark = needs_object_store
SUMMARY = {
    "created": "2026-01-31T12:00:00+00:00",
    "valid": True,
    "reasons": [],
    "versions": {},
    "variants": [],
    "measures": {},
}
EXPERIMENT = """\
name: small
system: {name: vitis}
peers: 10
workload:
  subscriptions: {kind: random, topics: 20, per_peer: 2, buckets: 1}
"""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with object_store() as address:
        yield address


@pytest.fixture
def place(server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    for name, value in variables(server).items():
        monkeypatch.setenv(name, value)
    return f"s3://{BUCKET}/{tmp_path.name}"


@pytest.fixture
def run(trellis) -> Path:
    """A finished run in the folder `runs`."""
    path = Path("runs/small-20260131-120000").resolve()
    trial = RunDirectory(path).trial("vitis-1")
    trial.path.mkdir(parents=True)
    (path / "experiment.yaml").write_text(EXPERIMENT)
    trial.write_status(state="valid")
    (path / "summary.json").write_text(json.dumps(SUMMARY))
    (path / "tables").mkdir()
    (path / "tables/part-0.parquet").write_text("table")
    os.utime(path / "experiment.yaml", (1769860800, 1769860800))  # 2026-01-31 12:00:00
    return path


def test_a_run_is_uploaded_listed_and_fetched(trellis, run, place):
    assert trellis("runs", "--at", place).stdout == f"there are no runs in {place}\n"
    result = trellis("upload", str(run), place)
    assert (result.exit_code, result.stdout) == (0, f"uploaded: {place}/{run.name}\n")
    (told,) = json.loads(trellis("runs", "--at", place, "--json").stdout)
    assert (told["run"], told["whole"]) == (f"{place}/{run.name}", True)
    assert (told["experiment"], told["verdict"], told["trials_ended"]) == ("small", "valid", 1)
    assert "valid" in trellis("runs", "--at", place).stdout
    shutil.rmtree(run)
    result = trellis("fetch", f"{place}/{run.name}")
    assert result.exit_code == 0, result.output
    assert (run / "tables/part-0.parquet").read_text() == "table"


def test_history_takes_what_it_needs_from_the_store_alone(trellis, run, place, monkeypatch):
    from trellis.command import history_command

    trellis("upload", str(run), place)
    seen: list[str] = []

    def look(name, folder):
        seen.extend(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
        return []

    monkeypatch.setattr(history_command, "_runs_of", look)
    monkeypatch.setattr("analysis.report.history.histories", lambda runs, measures: [])
    assert trellis("history", "small", "--in", place).exit_code == 0
    assert sorted(seen) == [f"{run.name}/experiment.yaml", f"{run.name}/summary.json"]


def test_troubles_with_a_store_are_told(trellis, run):
    for call in (("runs", "--at", "s3://B"), ("upload", str(run), "s3://B"), ("fetch", "s3://B")):
        result = trellis(*call)
        assert result.exit_code == 2
        assert "s3://B is no place in an object store" in result.stderr.replace("\n", " ")


def test_the_program_of_the_analysis_uploads_a_run_under_the_time_when_it_was_made(run, place, trellis):
    said: list[str] = []
    moved = run.parent / "run"
    run.rename(moved)
    for _ in range(2):  # a pod that is started again
        upload_results(RunDirectory(moved), place, said.append)
    assert said == [f"uploaded to {place}/small-20260131-120000"] * 2


def test_an_upload_that_fails_is_told_and_fails_nothing_else(run, place, monkeypatch):
    said: list[str] = []
    upload_results(RunDirectory(run), "s3://no-such-bucket/x", said.append)
    (text,) = said
    assert text.startswith("the run was NOT uploaded and stays on the volume: s3://no-such-bucket/x")
    assert SECRET not in text
    (run / "experiment.yaml").unlink()
    upload_results(RunDirectory(run), place, said.append)
    assert said[1].startswith("the run was NOT uploaded")
    monkeypatch.setattr("services.result_upload.about_of", lambda run: {})
    upload_results(RunDirectory(run), place, said.append)
    assert said[2].endswith("KeyError('experiment')")


def test_status_tells_how_the_upload_went(trellis, world):
    world.install()
    analysis = job("Complete")
    analysis["spec"] = {"template": {"spec": {"containers": [{"command": ["--upload=s3://runs/x"]}]}}}
    world.objects["jobs"] = [analysis]
    ended = {"state": {"terminated": {"exitCode": 0, "message": "uploaded to s3://runs/x/small"}}}
    world.objects["pods"] = [
        {"metadata": {"name": "demo-analysis-1", "labels": labels("demo", "analysis")}, "status": {}},
        {
            "metadata": {"name": "demo-analysis-2", "labels": labels("demo", "analysis")},
            "status": {"containerStatuses": [ended]},
        },
    ]
    assert "  uploaded to s3://runs/x/small" in trellis("status", "demo").stdout.splitlines()
    analysis["spec"] = {}
    assert "uploaded to" not in trellis("status", "demo").stdout
