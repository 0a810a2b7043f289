"""An experiment that runs by a schedule: a CronJob, a folder for each run, and a bounded history."""

from __future__ import annotations

import http.client
import json
import os
from pathlib import Path
from typing import Any

import pytest
from chart_rendering import Refused, experiment, find, kinds, needs_helm, render
from served_run import EXPERIMENT, serving

from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.earlier_runs import begin_turn, earlier_runs

VIRTUAL: dict[str, Any] = {"name": "test", "peers": 10}
NIGHTLY: dict[str, Any] = {"schedule": {"cron": "0 3 * * *", "timeZone": "Europe/Oslo", "keep": 3}}


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return RunDirectory(tmp_path / "run")


def make(run: RunDirectory, time: int) -> None:
    """Make a run at this unix time."""
    run.path.mkdir()
    run.experiment.write_text(EXPERIMENT)
    os.utime(run.experiment, (time, time))


def names(run: RunDirectory) -> list[str]:
    return [each.path.name for each in earlier_runs(run)]


def test_each_turn_has_a_folder_of_its_own_and_the_oldest_go(run: RunDirectory) -> None:
    for number in range(5):
        begin_turn(run, f"turn-{number}", 2)
        assert not run.path.exists()
        make(run, 1769860800 + 60 * number)
    assert names(run) == ["20260131-120300", "20260131-120200"]


def test_a_program_that_is_started_again_in_its_turn_goes_on(run: RunDirectory) -> None:
    begin_turn(run, "turn-1", 2)
    make(run, 1769860800)
    begin_turn(run, "turn-1", 2)
    assert run.experiment.exists() and not names(run)


def test_two_runs_of_one_second_are_both_kept(run: RunDirectory) -> None:
    for number in range(3):
        begin_turn(run, f"turn-{number}", 9)
        make(run, 1769860800)
    assert sorted(names(run)) == ["20260131-120000", "20260131-120000-2"]


def test_the_results_list_and_send_earlier_runs(run: RunDirectory) -> None:
    make(run, 1769860800)
    (run.path.parent / "outside").mkdir()
    (run.path.parent / "outside" / "experiment.yaml").write_text(EXPERIMENT)
    begin_turn(run, "turn-2", 2)
    with serving(run) as server:

        def ask(path: str) -> tuple[int, bytes]:
            connection = http.client.HTTPConnection(*server.server_address, timeout=20)
            try:
                connection.request("GET", path)
                answer = connection.getresponse()
                return answer.status, answer.read()
            finally:
                connection.close()

        status, body = ask("/runs")
        (told,) = json.loads(body)
        assert (status, told["run"], told["experiment"]) == (200, "20260131-120000", "small")
        assert ask("/runs/20260131-120000/run.tar.zst")[0] == 200
        for path in (
            "/runs/20260131-120001/run.tar.zst",
            "/runs/../outside/run.tar.zst",
            "/runs//run.tar.zst",
        ):
            assert ask(path)[0] == 404


def test_runs_and_fetch_know_the_earlier_runs_of_a_release(trellis, world, monkeypatch):  # type: ignore[no-untyped-def]
    world.install()
    make_there = world.run.path
    make_there.mkdir(parents=True)
    world.run.experiment.write_text(EXPERIMENT)
    told = [
        {"run": "20260131-120000", "state": "reported", "verdict": "valid", "trials": 3, "trials_ended": 3}
    ]
    plain = world._results

    def results(name: str) -> tuple[int, bytes]:
        return (200, json.dumps(told).encode()) if name == "runs" else plain(name)

    monkeypatch.setattr(world, "_results", results)
    assert json.loads(trellis("runs", "--release", "demo", "--json").stdout) == told
    assert "20260131-120000" in trellis("runs", "--release", "demo").stdout
    trellis("fetch", "demo", "--run", "20260131-120000")
    assert any(path.endswith("/proxy/runs/20260131-120000/run.tar.zst") for path in world.asked)
    result = trellis("fetch", "demo", "--run", "20260131-120001")
    assert result.exit_code == 2
    assert "demo has no earlier run 20260131-120001. It has: 20260131-120000" in result.stderr.replace(
        "\n", " "
    )


@needs_helm
def test_a_schedule_is_a_cron_job_that_never_runs_twice_at_once() -> None:
    manifests = render(NIGHTLY, VIRTUAL)
    spec = find(manifests, "CronJob", "demo-analysis")["spec"]
    assert (spec["schedule"], spec["timeZone"], spec["concurrencyPolicy"]) == (
        "0 3 * * *", "Europe/Oslo", "Forbid"
    )  # fmt: skip
    assert "demo-analysis" not in [job["metadata"]["name"] for job in kinds(manifests, "Job")]
    (once,) = [j for j in kinds(render(spec=VIRTUAL), "Job") if j["metadata"]["name"] == "demo-analysis"]
    pod = spec["jobTemplate"]["spec"]["template"]
    container, plain = pod["spec"]["containers"][0], once["spec"]["template"]["spec"]["containers"][0]
    assert [a for a in container["command"] if a not in plain["command"]] == ["--keep=3"]
    (turn,) = [e for e in container["env"] if e not in plain["env"]]
    assert turn["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.labels['batch.kubernetes.io/job-name']"
    assert pod["spec"]["serviceAccountName"] == "demo", "it needs no rights"


@needs_helm
@pytest.mark.parametrize(
    ("values", "spec", "why"),
    [
        (NIGHTLY, experiment(), "is for experiments on the virtual clock"),
        (NIGHTLY | {"queue": {"enabled": True}}, VIRTUAL, "both say when the experiment runs"),
        ({"schedule": {"cron": "3 o'clock"}}, VIRTUAL, "cron"),
    ],
)
def test_schedules_that_cannot_be_kept_are_refused(
    values: dict[str, Any], spec: dict[str, Any], why: str
) -> None:
    with pytest.raises(Refused, match=why):
        render(values, spec)
