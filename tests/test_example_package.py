"""The package of `examples/push-gossip`: installed as a newcomer does, outside of the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parent.parent / "examples" / "push-gossip"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the package is installed; its messages are made on the way."""
    copy = tmp_path_factory.mktemp("copy") / "push-gossip"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("messages.py", "build", "*.egg-info"))
    installed = tmp_path_factory.mktemp("site")
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation")
    subprocess.run([*pip, "--target", str(installed), str(copy)], check=True, timeout=120)
    return installed


def run(site: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(site)}
    arguments = [sys.executable, *command]
    return subprocess.run(arguments, capture_output=True, text=True, env=environment, cwd=site, timeout=500)


def test_its_own_tests_pass(site: Path) -> None:
    done = run(site, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLE / "tests"))
    assert done.returncode == 0, done.stdout


@pytest.mark.timeout(600)  # two analyses by Spark
def test_it_runs_on_every_runtime_of_this_machine_and_delivers_the_same_way(site: Path) -> None:
    """On the virtual clock everybody gets every event; processes find the system by themselves too."""
    program = """
import trellis
small = trellis.load("push-gossip:fanout.yaml", peers=30, repeat=1).with_({
    "vary": {}, "workload.publications.events": 10,
    "workload.subscriptions": {"kind": "zipf", "topics": 20, "per_peer": 2},
    "phases": {"join": "2 s", "settle": "14 s", "measure": "4 s", "drain": "6 s"},
    "system.parameters.repair": "1 s"})
run = small.run("runs", report=False)
assert run.valid, run.reasons
deliveries = run.tables["deliveries"]
assert deliveries.delivered.all() and len(deliveries) > 10
assert set(deliveries.trial) == {"push-gossip-1"}
measures = run.summary.set_index("measure")["mean"]
assert measures["hit_ratio"] == 1.0
assert run.trials.hit_ratio.tolist() == [1.0]
again = trellis.open_run(run.path)
assert again.valid and again.tables["deliveries"].equals(deliveries)
late = dict.fromkeys(("timer_lateness_p99", "delay_error_p99", "session_error_p99", "loop_stall"), "60 s")
real = small.with_({"runtime": {"kind": "processes", "hosts": 2, "time_scale": 0.25}, "fidelity": late})
run = real.run("runs", report=False)
assert run.tables["deliveries"].delivered.mean() > 0.9, run.reasons
"""
    done = run(site, "-c", program)
    assert done.returncode == 0, done.stdout + done.stderr
