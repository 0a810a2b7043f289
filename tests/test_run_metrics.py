"""Prometheus is told of all trials of a run, of its analysis and of its volume."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
from metrics_of_release import PROGRESS, standing
from served_run import begin

from emulator.experiment.run.directory import RunDirectory
from emulator.network.loopback import any_port
from emulator.trials.run_metrics import MOST_TRIALS, RunCollector, shown
from emulator.trials.run_progress import Standing, TrialStanding


def samples(told: Standing, volume: Path) -> dict[tuple[str, ...], float]:
    """Return the values by name and labels other than the release, in the order of their keys."""
    found = {}
    for metric in RunCollector("demo", lambda: told, volume).collect():
        for sample in metric.samples:
            assert sample.labels.pop("release") == "demo"
            found[(sample.name, *(value for _, value in sorted(sample.labels.items())))] = sample.value
    return found


def test_trials_stand_side_by_side_and_are_counted_by_state(tmp_path: Path) -> None:
    values = samples(standing(), tmp_path)
    states = {key[1]: value for key, value in values.items() if key[0] == "trellis_run_trials"}
    assert states == {"planned": 0, "running": 1, "valid": 1, "invalid": 0, "failed": 0}
    assert ("trellis_run_trial_info", "running", "vitis-1") in values
    for trial in ("vitis-1", "vitis-2"):
        assert values[("trellis_run_trial_progress_ratio", trial)] == 12.5 / 80
        assert values[("trellis_run_trial_peers_up", trial)] == 4
        assert values[("trellis_run_trial_operations_total", trial)] == 3
        assert values[("trellis_run_trial_deliveries_total", trial)] == 6
        assert values[("trellis_run_trial_messages_total", trial)] == 20
        assert values[("trellis_run_trial_hosts_lost", trial)] == 0


@pytest.mark.parametrize("state", ["valid", "invalid", "failed"])
def test_a_run_ends_with_its_last_trial_and_is_analyzed_after_that(state: str, tmp_path: Path) -> None:
    ended = TrialStanding("vitis-1", state, progress=PROGRESS)
    names = ("trellis_run_ended", "trellis_run_analyzed", "trellis_run_unreadable")

    def told(**fields: object) -> list[float]:
        values = samples(Standing("demo", (ended,), **fields), tmp_path)  # type: ignore[arg-type]
        return [values[(name,)] for name in names]

    assert told() == [1, 0, 0]
    assert told(analyzed=True) == [1, 1, 0]
    assert told(problem="it is damaged") == [1, 0, 1]


def test_the_volume_is_told_with_what_is_free_for_programs(tmp_path: Path) -> None:
    values, found = samples(standing(), tmp_path), os.statvfs(tmp_path)
    assert values[("trellis_volume_size_bytes",)] == found.f_blocks * found.f_frsize
    assert 0 < values[("trellis_volume_free_bytes",)] < values[("trellis_volume_size_bytes",)]


def test_a_volume_that_cannot_be_asked_is_left_out(tmp_path: Path) -> None:
    assert ("trellis_volume_free_bytes",) not in samples(standing(), tmp_path / "none")


def test_of_many_trials_those_that_run_and_the_last_that_ended_have_series() -> None:
    def trial(number: int, state: str) -> TrialStanding:
        return TrialStanding(f"trial-{number}", state)

    ended = [trial(number, "valid") for number in range(1, 2 * MOST_TRIALS)]
    found = shown([trial(0, "running"), *ended, trial(9999, "planned")])
    assert [each.trial for each in found] == ["trial-0", *(each.trial for each in ended[1 - MOST_TRIALS :])]


def test_the_results_serve_metrics_without_a_token_where_they_are_asked_to(tmp_path: Path) -> None:
    begin(run := RunDirectory(tmp_path / "run"))
    (tmp_path / "token").write_text("a secret of the release")
    with socket.create_server(("127.0.0.1", 0)) as free:
        listen = f"127.0.0.1:{free.getsockname()[1]}"
    options = ["--run", str(run.path), "--listen", any_port(), "--metrics", listen]
    options += ["--token", str(tmp_path / "token")]
    process = subprocess.Popen(
        [sys.executable, "-m", "services.results", *options],
        env=os.environ | {"TRELLIS_RELEASE": "demo"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None and process.stdout.readline()
        text = urlopen(f"http://{listen}/metrics", timeout=20).read().decode()
    finally:
        process.terminate()
        assert process.wait(20) == 0
    assert 'trellis_run_trials{release="demo",state="planned"}' in text
    assert 'process_resident_memory_bytes{program="results",release="demo"}' in text


def test_an_address_for_metrics_that_is_none_is_told(tmp_path: Path) -> None:
    options = ["--run", str(tmp_path / "run"), "--listen", any_port(), "--metrics", "9100"]
    ended = subprocess.run(
        [sys.executable, "-m", "services.results", *options], capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 1
    assert "127.0.0.1:9100" in ended.stderr
