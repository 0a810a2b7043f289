"""The compiled protocols are those of the source, and do the same as their source."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from setuptools import Distribution

from emulator.compiler import build, finder, wheel
from emulator.compiler.finder import INTERPRETED, digest, install, sources
from emulator.contract.registry import SYSTEMS
from emulator.runtime.breaches import CHECKED
from emulator.testing.witnessed_trials import CONTENT, OWN_SYSTEMS, PARAMETERS

ROOT = Path(__file__).parent.parent

TOPICS = {
    "workload": {
        "subscriptions": {"kind": "high", "topics": 60, "buckets": 6, "per_peer": 8},
        "publications": {"events": 20},
    },
    "phases": {"join": "3 s", "settle": "9 s", "measure": "6 s", "drain": "4 s"},
}
BY_CONTENT = {
    "workload": CONTENT,
    "phases": {"join": "12 s", "settle": "12 s", "measure": "6 s", "drain": "4 s"},
}
LOOKUPS = {
    "workload": {"lookups": {"rate": 5}},
    "phases": {"join": "12 s", "settle": "12 s", "measure": "6 s", "drain": "4 s"},
}
VALUES = LOOKUPS | {"workload": {"values": {"count": 20, "gets": 5, "updates": 1}}}
BROADCAST = LOOKUPS | {"workload": {"broadcast": {"rate": 2}}}
SETTINGS: dict[str, dict[str, Any]] = {
    "topics": TOPICS,
    "content": BY_CONTENT,
    "lookups": LOOKUPS,
    "values": VALUES,
    "membership": LOOKUPS | {"workload": {"membership": {}}},
    "broadcast": BROADCAST,
}
CHURN = {"churn": {"model": {"kind": "poisson", "mean_session": "30 s", "mean_gap": "10 s"}, "graceful": 0.5}}
NETWORKS: list[dict[str, Any]] = [{}, {"network": {"jitter": "5 ms", "loss": 0.002}}]
"""The virtual clock passes rows of message pools on where the network neither delays nor loses at random."""

RUN = """
import json
import sys
from pathlib import Path
from emulator.compiler.finder import WHY_INTERPRETED
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.run.directory import TrialDirectory
from emulator.experiment.file.spec import TrialSpec
from emulator.layouts.layout import lay_out
from emulator.runtime.virtual.run_virtual import run_virtual
for given in json.load(sys.stdin):
    spec = TrialSpec.model_validate(given)
    trial = TrialDirectory(Path(sys.argv[1]) / "run" / "trials" / spec.system.name)
    trial.path.mkdir(parents=True)
    plan = draw_plan(spec)
    run_virtual(lay_out(spec, plan), plan, trial, lambda _: None)
print(WHY_INTERPRETED)
"""
"""All trials in one process: to start one takes as long as a trial."""


def run(specs: list[dict[str, Any]], folder: Path, interpreted: bool) -> tuple[str, dict[str, bytes]]:
    """Run the trials, and return why they were interpreted, if they were, and the files of their
    telemetry."""
    environment = {name: value for name, value in os.environ.items() if name != INTERPRETED}
    if interpreted:
        environment[INTERPRETED] = "1"
    command = [sys.executable, "-c", RUN, str(folder)]
    given = json.dumps(specs)
    ran = subprocess.run(
        command, input=given, env=environment, capture_output=True, text=True, timeout=290, check=False
    )
    assert ran.returncode == 0, ran.stderr
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.otlp")}
    return ran.stdout.strip(), files


class Both(NamedTuple):
    """The files of telemetry, by path, of the same trials compiled and interpreted."""

    native: dict[str, bytes]
    plain: dict[str, bytes]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    """All systems, in one process compiled and in another one interpreted."""
    folder = tmp_path_factory.mktemp("both")
    specs = [
        {"system": {"name": name, "parameters": PARAMETERS.get(name, {})}, "peers": 14, **CHURN}
        | SETTINGS[serves]
        | NETWORKS[place % 2]
        for serves in SETTINGS
        for place, name in enumerate(serving(serves))
    ]
    reason, native = run(specs, folder / "compiled", interpreted=False)
    if reason:
        pytest.skip(f"the protocols are interpreted here: {reason}")
    reason, plain = run(specs, folder / "interpreted", interpreted=True)
    assert reason
    return Both(native, plain)


def serving(serves: str) -> list[str]:
    return [name for name in OWN_SYSTEMS if SYSTEMS[name].serves == serves]


@pytest.mark.timeout(600)  # the first one waits for all systems
@pytest.mark.parametrize("serves", SETTINGS)
def test_interpreted_and_compiled_give_the_same_messages_and_bytes(serves: str, both: Both) -> None:
    systems = serving(serves)
    native, plain = (
        {name: content for name, content in files.items() if Path(name).parts[2] in systems} for files in both
    )
    assert native.keys() == plain.keys()
    assert len(native) >= len(systems)
    assert all(len(content) > 1000 for content in native.values())
    assert [name for name, content in native.items() if plain[name] != content] == []


COUNT = """
import collections
import sys
import tempfile
from pathlib import Path
from emulator.compiler.finder import WHY_INTERPRETED
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.run.directory import TrialDirectory
from emulator.experiment.file.spec import TrialSpec
from emulator.runtime.virtual.run_virtual import run_virtual
workload = {"subscriptions": {"kind": "random", "topics": 20, "per_peer": 4}}
given = {"system": {"name": "vitis"}, "peers": 60, "workload": workload, "phases": {"settle": "20 s"}}
spec = TrialSpec.model_validate(given)
plan, calls = draw_plan(spec), collections.Counter()
def note(frame, event, argument):
    if event == "call" and "/emulator/" in frame.f_code.co_filename:
        calls[f"{frame.f_code.co_filename.split('/emulator/')[1]}:{frame.f_code.co_name}"] += 1
with tempfile.TemporaryDirectory() as folder:
    trial = TrialDirectory(Path(folder) / "run" / "trials" / "vitis-1")
    trial.path.mkdir(parents=True)
    sys.setprofile(note)
    fidelity = run_virtual(spec, plan, trial, lambda _: None)
    sys.setprofile(None)
print(WHY_INTERPRETED)
print([name for name, count in calls.items() if count > fidelity.measured["loop_events"] / 50])
"""


def test_no_function_on_the_way_of_most_events_is_interpreted() -> None:
    environment = {name: text for name, text in os.environ.items() if name not in (INTERPRETED, CHECKED)}
    command = [sys.executable, "-c", COUNT]
    ran = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT
    )
    assert ran.returncode == 0, ran.stderr
    reason, interpreted = ran.stdout.splitlines()
    if reason:
        pytest.skip(f"the protocols are interpreted here: {reason}")
    assert interpreted == "[]"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that says that all modules were compiled from this source; nobody imports them here."""
    monkeypatch.setattr(finder, "FOLDER", tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.delenv(INTERPRETED, raising=False)
    write(tmp_path, sources())
    return tmp_path


def write(folder: Path, sources: dict[str, str], suffix: str = EXTENSION_SUFFIXES[0]) -> None:
    manifest = {"suffix": suffix, "library": "trellis_core__mypyc", "sources": sources}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_what_was_compiled_from_this_source_is_used(folder: Path) -> None:
    before = len(sys.meta_path)
    assert install() == ""
    assert len(sys.meta_path) == before + 1


def test_a_source_that_has_changed_since_is_interpreted(folder: Path) -> None:
    write(folder, sources() | {"emulator.contract.protocol": digest(ROOT / "README.md")})
    assert install() == "emulator.contract.protocol has changed since it was compiled"


def test_a_source_that_is_gone_is_not_imported_from_what_was_compiled(folder: Path) -> None:
    write(folder, sources() | {"emulator.protocols.pubsub.gone": "0" * 64})
    assert install() == "emulator.protocols.pubsub.gone has changed since it was compiled"


def test_a_module_that_was_added_since_is_noticed(folder: Path) -> None:
    known = sources()
    del known["emulator.protocols.gossip.tman"]
    write(folder, known)
    assert install() == "emulator.protocols.gossip.tman has changed since it was compiled"


def test_messages_that_are_imported_first_are_those_that_compiled_code_makes() -> None:
    program = (
        "from trellis.v1.overlay import Contact\n"
        "from emulator.protocols.overlays.pastry.leaf_set import LeafSet\n"
        "print(len(LeafSet(5, 4, [Contact(2, 7)])))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.stdout == "1\n", ran.stderr


def test_what_was_compiled_for_another_python_is_not_used(folder: Path) -> None:
    write(folder, {}, ".cpython-399-x86_64-linux-gnu.so")
    assert install() == "it was compiled for another Python"


def test_nothing_compiled_is_no_error(folder: Path) -> None:
    shutil.rmtree(folder)
    assert install() == "nothing was compiled"


def test_a_damaged_manifest_is_as_if_nothing_was_compiled(folder: Path) -> None:
    (folder / "manifest.json").write_text("{")
    assert install() == "nothing was compiled"


def test_the_user_can_have_everything_interpreted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(INTERPRETED, "yes")
    assert install() == f"{INTERPRETED} is set"


@pytest.mark.parametrize("absent", ["mypyc", "setuptools"])
def test_what_compiling_lacks_is_named(absent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "find_spec", lambda name: None if name == absent else object())
    assert build.missing_tools() == f"{absent} was"
    monkeypatch.setenv("CC", "no-such-compiler")
    assert build.missing_tools() == "A C compiler was"


def test_without_a_c_compiler_the_build_says_so_at_once_and_compiles_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr(build, "build", lambda *what: pytest.fail("it compiles"))
    build.main()
    told = capsys.readouterr().out
    assert told.startswith("A C compiler was not found: the protocols are interpreted, which works, ")
    assert told.endswith("installing the sdist again.\n")


@pytest.mark.parametrize(
    ("compiler", "why", "pure"),
    [
        ("no-such-compiler", "nothing was compiled", True),
        (sys.executable, "nothing was compiled", False),
        ("no-such-compiler", "", False),  # compiled before
    ],
)
def test_a_wheel_is_for_one_platform_only_if_it_has_native_code(
    compiler: str, why: str, pure: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", compiler)
    monkeypatch.setattr(wheel, "WHY_INTERPRETED", why)
    command = wheel.PlatformWheel(Distribution({"name": "trellis", "version": "1"}))
    command.ensure_finalized()
    assert command.root_is_pure is pure
