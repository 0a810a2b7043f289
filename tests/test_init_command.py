"""The command `init`, which writes an experiment file to begin with."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from typer.testing import CliRunner

from emulator.experiment.file import load as load_module
from emulator.experiment.file.document import ExperimentError, Place, Problem
from emulator.experiment.file.load import load
from trellis.command import init_command
from trellis.command.cli import app

Init = Callable[..., Any]


@pytest.fixture
def init(tmp_path: Path) -> Init:
    """Return a function that calls `init` in a program's surroundings: nobody can answer."""
    return lambda *given: CliRunner().invoke(app, ["init", str(tmp_path / "mine.yaml"), *given])


@pytest.mark.parametrize(
    "names",
    [
        ["vitis", "rvr", "opt", "gossipsub", "scribe-pastry", "magnet-oscar", "quasar-hyparview"],
        ["li", "siena", "kyra", "groups"],
        ["pastry", "oscar", "chord", "kademlia", "small-world"],
        ["values-chord", "values-pastry", "values-kademlia"],
        ["swim"],
        ["plumtree-hyparview", "flood-cyclon", "push-gossip-newscast", "anti-entropy-random-graph"],
    ],
    ids=lambda names: names[0],
)
def test_systems_of_a_kind_get_a_file_that_is_valid(names: list[str], init: Init, tmp_path: Path) -> None:
    done = init(*(part for name in names for part in ("--system", name)), "--seeds", "2")
    assert done.exit_code == 0, done.output
    spec = load(tmp_path / "mine.yaml", [])
    assert (spec.name, spec.peers, spec.repeat) == ("mine", 200, 2)
    assert f"trellis run {tmp_path}" in done.output


@pytest.mark.parametrize("churn", ["none", "poisson", "skype"])
def test_one_system_with_each_churn_is_valid(churn: str, init: Init, tmp_path: Path) -> None:
    done = init("--system", "li", "--churn", churn, "--peers", "60")
    assert done.exit_code == 0, done.output
    spec = load(tmp_path / "mine.yaml", [])
    assert spec.system.name == "li"
    assert str(spec.churn.model.kind if spec.churn and spec.churn.model else "none") in (churn, "static")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            ["--system", "vitis", "--system", "chord"],
            "no workload in common: vitis serves topics",
        ),
        (["--system", "vitsi"], 'no system is called "vitsi". Did you mean "vitis"?'),
        (["--system", "vitis", "--system", "vitis"], "vitis is named 2 times. Name each system once"),
        (["--system", "vitis", "--peers", "1"], "should be greater than or equal to 2"),
        (["--system", "vitis", "--seeds", "1001"], "should be less than or equal to 1000"),
        ([], "no system is named. Add --system NAME"),
    ],
)
def test_what_cannot_be_compared_is_refused_and_nothing_is_written(
    given: list[str], told: str, init: Init, tmp_path: Path
) -> None:
    done = init(*given)
    assert done.exit_code == 2
    assert told in done.output.replace("\n", " ")
    assert not (tmp_path / "mine.yaml").exists()


def test_only_systems_that_do_not_fit_are_said_not_to_go_together(
    init: Init, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(key: str) -> str:
        def load(file: Path, options: list[str]) -> None:
            raise ExperimentError([Problem(Place(str(file), 7), key, "is wrong")])

        monkeypatch.setattr(load_module, "load", load)
        done = init("--system", "vitis", "--system", "rvr")
        assert done.exit_code == 2 and not (tmp_path / "mine.yaml").exists()
        return str(done.output.strip())

    assert refused("vary.system.name") == "these systems do not go together: vary.system.name: is wrong"
    assert refused("phases.join") == "such an experiment cannot be run: phases.join: is wrong"


def test_a_file_that_is_there_is_kept(init: Init, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("mine")
    assert init("--system", "vitis").exit_code == 2
    assert (tmp_path / "mine.yaml").read_text() == "mine"


def test_a_wrong_answer_is_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(init_command, "sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True)))
    answers = ["vitsi rvr", "rvr rvr", "vitis rvr", "1", "many", "50", "0", "2", "sometimes", "none"]
    done = CliRunner().invoke(app, ["init", str(tmp_path / "mine.yaml")], input="\n".join(answers) + "\n")
    assert done.exit_code == 0, done.output
    assert 'no system is called "vitsi". Did you mean "vitis"?' in done.output
    assert "1 is no whole number from 2 to 200,000" in done.output
    spec = load(tmp_path / "mine.yaml", [])
    assert (spec.peers, spec.repeat) == (50, 2)


def test_ctrl_c_at_a_question_is_an_interrupt(tmp_path: Path) -> None:
    ours, its = pty.openpty()
    command = [sys.executable, "-c", "from services.command import main; main()", "init", "mine.yaml"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdin=its, stdout=its, stderr=subprocess.PIPE, text=True
    )
    os.close(its)
    try:
        said = b""
        while b"between" not in said:
            said += os.read(ours, 1000)
        _await_sleep(process.pid)
        process.send_signal(signal.SIGINT)
        told = process.communicate(timeout=60)[1]
    finally:
        process.kill()
        os.close(ours)
    assert (process.returncode, told.strip()) == (130, "interrupted")


def _await_sleep(pid: int) -> None:
    """Wait until a process sleeps: a signal that comes just before it reads would not wake it."""
    process, ends = psutil.Process(pid), time.monotonic() + 60
    before = None
    while time.monotonic() < ends:
        asleep, spent = process.status() == psutil.STATUS_SLEEPING, process.cpu_times()
        if asleep and spent == before:
            return
        before = spent if asleep else None
        time.sleep(0.2)
    raise AssertionError("the command does not come to wait for an answer")
