"""The packages of `examples/`: installed as a newcomer does, outside of the repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from forked_programs import run_program

EXAMPLES = Path(__file__).parent.parent / "examples"
LOAD_ALL = """
from importlib.metadata import distributions
(package,) = distributions(path=["."])
assert [entry.load() for entry in package.entry_points]
"""
"""Imports all that the package in the working directory brings."""
FEW = """
from emulator.compiler import finder
kept = {
    *(f"emulator.contract.{name}" for name in ("draws", "gauges", "identifiers", "interests")),
    *(f"emulator.contract.{name}" for name in ("message_pool", "outcomes", "protocol")),
    *(f"emulator.messages.{name}" for name in ("catalogue", "coding", "message")),
    "trellis.v1.overlay",
}
rooms = ("emulator.compact.", "emulator.protocols.")
every = finder.compiled_modules
finder.compiled_modules = lambda *which: [
    module for module in every(*which) if module in kept or module.startswith(rooms)
]
"""
"""Has Trellis compile, and take for compiled, the modules that a class of push gossip inherits from or calls,
and whole rooms if they are asked for."""
QUICK = """
import mypyc.build
from emulator.compiler import build
finder.ROOMS = ()
build._KERNEL_ARGUMENTS[0] = "-O0"
whole = mypyc.build.mypycify
mypyc.build.mypycify = lambda what, **how: whole(
    [word.replace("imports=silent", "imports=skip") for word in what], **(how | {"opt_level": "0"})
)
"""
"""Has Trellis compile no protocols, read no source that it does not compile, and not optimise: that is what
takes the time."""


def install(name: str, temporary: pytest.TempPathFactory) -> Path:
    """Install the package into a folder and return it; its messages are made on the way."""
    copy = temporary.mktemp("copy") / name
    ignored = shutil.ignore_patterns("messages.py", "build", "*.egg-info")
    shutil.copytree(EXAMPLES / name, copy, ignore=ignored)
    installed = temporary.mktemp("site")
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation")
    subprocess.run([*pip, "--target", str(installed), str(copy)], check=True, timeout=120)
    return installed


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of all packages, by name."""
    names = sorted(path.parent.name for path in EXAMPLES.glob("*/tests"))
    return {name: install(name, tmp_path_factory) for name in names}


@pytest.fixture
def site(sites: dict[str, Path]) -> Path:
    """The folder of push gossip."""
    return sites["push-gossip"]


def run(site: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(site)} | variables
    arguments = [sys.executable, *command]
    return subprocess.run(arguments, capture_output=True, text=True, env=environment, cwd=site, timeout=500)


ON_EVERY_RUNTIME = """
import trellis

def test_it_runs_on_every_runtime_of_this_machine_and_delivers_the_same_way():
    late = dict.fromkeys(("timer_lateness_p99", "delay_error_p99", "session_error_p99", "loop_stall"), "60 s")
    small = trellis.load("push-gossip:fanout.yaml", peers=30, repeat=1).with_({
        "vary": {"runtime": [{"kind": "virtual"}, {"kind": "processes", "hosts": 2, "time_scale": 0.25}]},
        "workload.publications.events": 10, "fidelity": late,
        "workload.subscriptions": {"kind": "zipf", "topics": 20, "per_peer": 2},
        "phases": {"join": "2 s", "settle": "14 s", "measure": "4 s", "drain": "6 s"},
        "system.parameters.repair": "1 s"})
    run = small.run("runs", report=False)
    deliveries = run.tables["deliveries"]
    virtual, real = (found for _, found in deliveries.groupby(deliveries.trial.str.contains("processes")))
    assert virtual.delivered.all() and len(virtual) > 10
    assert real.delivered.mean() > 0.9, run.reasons
    assert set(virtual.trial) == {"push-gossip.virtual-1"}
    measures = run.summary[run.summary.variant == "push-gossip.virtual"].set_index("measure")["mean"]
    assert measures["hit_ratio"] == 1.0
    assert run.trials.set_index("trial").hit_ratio["push-gossip.virtual-1"] == 1.0
    again = trellis.open_run(run.path)
    assert again.valid == run.valid and again.tables["deliveries"].equals(deliveries)
    assert not any("virtual" in reason for reason in run.reasons)
"""
"""On the virtual clock everybody gets every event; processes find the system by themselves too."""


def test_all_that_a_package_brings_can_be_imported(sites: dict[str, Path]) -> None:
    """Each package is whole by itself."""
    for site in sites.values():
        done = run_program(LOAD_ALL, [], site, os.environ | {"PYTHONPATH": str(site)}, limit=100)
        assert done.returncode == 0, done.stderr


@pytest.mark.timeout(600)  # analyses by Spark
def test_their_own_tests_pass_and_one_runs_on_every_runtime(sites: dict[str, Path], tmp_path: Path) -> None:
    """One process runs the tests of all, since each would start a JVM."""
    own = tmp_path / "test_every_runtime.py"
    own.write_text(ON_EVERY_RUNTIME)
    tests = [*(str(EXAMPLES / name / "tests") for name in sites), str(own)]
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout", "480", *tests)
    done = run(sites["push-gossip"], *command, PYTHONPATH=os.pathsep.join(map(str, sites.values())))
    assert done.returncode == 0, done.stdout


@pytest.mark.timeout(600)  # compiles a part of Trellis, too
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_it_is_compiled_with_trellis_and_does_the_same(site: Path, tmp_path: Path) -> None:
    """What was compiled is used until its source changes, and telemetry is the same byte for byte."""
    library = {"TRELLIS_COMPILED": str(tmp_path / "library"), "TRELLIS_INTERPRETED": ""}
    command = f"{FEW}{QUICK}\nfrom trellis.command.cli import main; main()"
    done = run(site, "-c", command, "compile", "push_gossip", **library)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "push_gossip: 2 modules are compiled" in done.stdout
    program = (
        f"{FEW}finder.WHY_INTERPRETED = finder.install()"
        + """
import hashlib, json, sys
from pathlib import Path
from emulator.compiler.finder import why_package_interpreted
from emulator.contract.registry import SYSTEMS
from emulator.experiment.file.load import load
from emulator.experiment.file.package_experiments import locate
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.file.variants import variants
from emulator.experiment.run.directory import TrialDirectory
from emulator.runtime.virtual.run_virtual import run_virtual

spec = variants(load(locate(Path("push-gossip:fanout.yaml")), ["peers=30", "vary={}", "repeat=1"]))[0].spec
trial = TrialDirectory(Path(sys.argv[1]) / "run" / "trials" / "one")
trial.path.mkdir(parents=True)
run_virtual(spec, draw_plan(spec), trial, lambda progress: None)
digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(trial.telemetry.iterdir())]
module = sys.modules[SYSTEMS["push-gossip"].create.__module__]
print(json.dumps([why_package_interpreted("push_gossip"), Path(module.__file__).suffix, digests]))
"""
    )

    def outcome(**variables: str) -> list[object]:
        done = run(site, "-c", program, str(tmp_path / str(len(list(tmp_path.iterdir())))), **variables)
        assert done.returncode == 0, done.stderr
        found: list[object] = json.loads(done.stdout)
        return found

    compiled = outcome(**library)
    interpreted = outcome(TRELLIS_INTERPRETED="1")
    assert compiled[:2] == ["", ".so"]
    assert interpreted[:2] == ["TRELLIS_INTERPRETED is set", ".py"]
    assert compiled[2] == interpreted[2] and len(compiled[2]) == 2
    source = site / "push_gossip" / "system.py"
    source.write_text(source.read_text() + "\n# changed\n")
    why, suffix, digests = outcome(**library)
    assert why == "push_gossip.system has changed since it was compiled"
    assert suffix == ".py"
    assert digests == compiled[2]
