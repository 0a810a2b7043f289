"""What the caller has around the command, and what of it reaches our programs."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Caller:
    """A user who calls the command, in an empty folder that others may write to."""

    folder: Path
    python: str
    number: int | None
    """The user and the group, None for those of this process."""

    def call(
        self, here: Path, environment: Mapping[str, str], *arguments: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.python, "-P", "-c", "from trellis.command.cli import main; main()", *arguments],
            cwd=here,
            env=environment,
            user=self.number,
            group=self.number,
            extra_groups=None if self.number is None else [],
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )


WITHOUT_HOME = {
    name: value for name, value in os.environ.items() if name not in ("HOME", "XDG_CACHE_HOME", "PYTHONPATH")
} | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(os.path.isabs, sys.path)])}


@pytest.fixture
def caller() -> Iterator[Caller]:
    """A user without an entry if this process may become one who may run a Python, else its own user."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o777)
        pythons = (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}")
        for python in () if os.getuid() else pythons:
            nobody = Caller(folder, python, NOBODY)
            with contextlib.suppress(OSError):
                if nobody.call(folder, WITHOUT_HOME, "--help").returncode == 0:
                    yield nobody
                    return
        yield Caller(folder, sys.executable, None)


@pytest.mark.timeout(420)
def test_a_run_goes_well_in_hostile_surroundings_without_an_entry_and_a_home(caller: Caller) -> None:
    """Modules in the working directory, proxies, another Spark and another Java, no home, an odd path.

    They come together, and to a user without an entry where there can be one: each run takes a minute.
    """
    here = caller.folder / "x[1] {a} ö?"
    for folder in (here, caller.folder / "x1 a ö"):
        folder.mkdir()
        folder.chmod(0o777)
    for name in HOSTILE:
        (here / name).write_text(f"raise SystemExit('{name} of the working directory was imported')\n")
    (here / "spark-defaults.conf").write_text("spark.master spark://127.0.0.1:9\n")
    (here / "small.yaml").write_text(EXPERIMENT)
    environment = WITHOUT_HOME | {
        "http_proxy": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9",
        "JAVA_TOOL_OPTIONS": "-Xmx1m",
        "SPARK_CONF_DIR": str(here),
        "SPARK_HOME": "/elsewhere",
        "SPARK_REMOTE": "sc://127.0.0.1:9",
    }
    done = caller.call(here, environment, "run", "small.yaml", "--out", "out")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "valid" in done.stdout
    (run,) = (here / "out").iterdir()
    assert json.loads((run / "summary.json").read_text())["valid"]
    assert (run / "report" / "index.html").exists()


def test_a_user_without_an_entry_and_a_home_is_told_that_there_is_none(caller: Caller) -> None:
    if caller.number is None:
        pytest.skip(
            "only root can become another user, who has to be allowed to run a Python of this version"
        )
    tilde = EXPERIMENT.replace("constant, rtt: 20 ms", "planetlab, file: ~/rtts")
    (caller.folder / "tilde.yaml").write_text(tilde)
    done = caller.call(caller.folder, WITHOUT_HOME, "validate", "tilde.yaml")
    assert "~ has no home here" in done.stderr
