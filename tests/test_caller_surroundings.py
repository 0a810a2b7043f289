"""What the caller has around the command, and what of it reaches our programs."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from emulator.files.child_programs import surroundings

ROOT = Path(__file__).parent.parent
EXPERIMENT = """\
name: small
system: {name: vitis}
peers: 10
network: {latency: {kind: constant, rtt: 20 ms}}
workload:
  subscriptions: {kind: random, topics: 5, per_peer: 2, buckets: 1}
  publications: {events: 5}
phases: {join: 1 s, settle: 4 s, measure: 2 s, drain: 2 s}
runtime: {kind: processes, hosts: 2}
fidelity: {timer_lateness_p99: 60 s, delay_error_p99: 60 s, session_error_p99: 60 s, loop_stall: 60 s}
"""
NOBODY = 54_321
"""A number of a user and of a group that have no entry."""
HOSTILE = ("random.py", "typing.py", "emulator.py", "analysis.py", "services.py", "pyspark.py")


def test_our_programs_get_what_is_on_the_list_and_no_relative_path() -> None:
    given = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "TRELLIS_DATA": "/data",
        "http_proxy": "http://127.0.0.1:9",
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "JAVA_TOOL_OPTIONS": "-Xmx1m",
        "SPARK_CONF_DIR": "/elsewhere",
        "PYTHONSTARTUP": "/elsewhere.py",
        "PYTHONPATH": os.pathsep.join(["", ".", "src", "/packages"]),
    }
    assert surroundings(given) == {
        "PATH": "/bin",
        "LC_ALL": "C",
        "TRELLIS_DATA": "/data",
        "PYTHONPATH": "/packages",
        "PYTHONSAFEPATH": "1",
    }


@pytest.mark.timeout(420)
def test_a_run_goes_well_in_hostile_surroundings(tmp_path: Path) -> None:
    """Modules in the working directory, proxies, another Spark and another Java, no home, an odd path."""
    here = tmp_path / "x[1] {a} ö?"
    here.mkdir()
    (tmp_path / "x1 a ö").mkdir()
    for name in HOSTILE:
        (here / name).write_text(f"raise SystemExit('{name} of the working directory was imported')\n")
    (here / "spark-defaults.conf").write_text("spark.master spark://127.0.0.1:9\n")
    (here / "small.yaml").write_text(EXPERIMENT)
    environment = {
        name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME")
    }
    environment |= {
        "http_proxy": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9",
        "JAVA_TOOL_OPTIONS": "-Xmx1m",
        "SPARK_CONF_DIR": str(here),
        "SPARK_HOME": "/elsewhere",
        "SPARK_REMOTE": "sc://127.0.0.1:9",
        "PYTHONPATH": str(ROOT),
    }
    command = (sys.executable, "-P", "-c", "from trellis.command.cli import main; main()")
    done = subprocess.run(
        [*command, "run", "small.yaml", "--out", "out"],
        cwd=here,
        env=environment,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = (here / "out").iterdir()
    assert json.loads((run / "summary.json").read_text())["valid"]
    assert (run / "report" / "index.html").exists()


@pytest.fixture
def homeless(request: pytest.FixtureRequest) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Calls the command as a user without an entry and without a home, in an empty folder."""
    if os.getuid():
        pytest.skip("only root can become another user")
    folder = tempfile.TemporaryDirectory(dir="/tmp")
    request.addfinalizer(folder.cleanup)
    here = Path(folder.name)
    here.chmod(0o777)
    (here / "small.yaml").write_text(EXPERIMENT)
    (here / "tilde.yaml").write_text(EXPERIMENT.replace("constant, rtt: 20 ms", "planetlab, file: ~/rtts"))
    kept = {name: value for name, value in surroundings(os.environ).items() if name != "HOME"}
    environment = kept | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(os.path.isabs, sys.path)])}

    def call(python: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        program = "from trellis.command.cli import main; main()"
        return subprocess.run(
            [python, "-P", "-c", program, *arguments],
            cwd=here,
            env=environment,
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )

    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        with contextlib.suppress(OSError):
            if call(python, "--help").returncode == 0:
                return partial(call, python)
    pytest.skip(f"no other user may run {sys.executable}, and there is no other Python of its version")


@pytest.mark.timeout(420)
def test_a_user_without_an_entry_and_a_home_can_check_and_run(
    homeless: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    assert "~ has no home here" in homeless("validate", "tilde.yaml").stderr
    run = homeless("run", "small.yaml", "--set", "runtime={kind: virtual}")
    assert run.returncode == 0, run.stdout + run.stderr
    assert "valid" in run.stdout
