"""The command expects the cost of a trial from trials of it with few peers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from emulator.experiment.file.spec import TrialSpec
from trellis import tried_cost as module
from trellis.command import prospect
from trellis.command.cli import app
from trellis.expected_cost import Cost
from trellis.measured_rates import RATES
from trellis.tried_cost import NotTried, Tried, extrapolated, tried_cost

SMALL = """
name: small
peers: 30
repeat: 2
system: {name: oscar}
workload: {lookups: {rate: 5}}
phases: {join: 2 s, settle: 5 s, measure: 5 s, drain: 2 s}
"""


@pytest.fixture
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget what was measured of the system of the small experiment."""
    monkeypatch.delitem(RATES, "oscar")


def trial(**more: Any) -> TrialSpec:
    fields = {
        "system": {"name": "chord"},
        "peers": 30,
        "workload": {"lookups": {"rate": 5}},
        "phases": {"join": "2 s", "settle": "5 s", "measure": "5 s", "drain": "2 s"},
    }
    return TrialSpec.model_validate(fields | more)


def test_a_further_peer_takes_what_one_of_the_tried_ones_took_and_longer_among_many() -> None:
    tried = [Tried(40, Cost(1.0, 100e6)), Tried(160, Cost(2.2, 112e6))]
    few = extrapolated(tried, 260)
    assert few.processor_s == pytest.approx(3.2)
    assert few.memory_bytes == pytest.approx(122e6)
    many = extrapolated(tried, 10_160)
    assert many.processor_s == pytest.approx(2.2 + 100 * 3.5)
    assert many.memory_bytes == pytest.approx(1112e6)


def test_a_small_trial_is_run_whole() -> None:
    cost = tried_cost(trial())
    assert 0.01 < cost.processor_s < module.LONGEST
    assert 20e6 < cost.memory_bytes < 2e9


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (
            {"runtime": {"kind": "processes"}},
            "runtime.kind is processes, and only trials on the virtual clock are tried",
        ),
        (
            {"peers": 300, "faults": [{"name": "a", "at": "8 s", "crash": {"peers": [250]}}]},
            "cannot be drawn with 40 peers: faults.0.crash.peers: ",
        ),
    ],
    ids=["in real time", "peers that are not among the few"],
)
def test_a_trial_that_cannot_be_tried_has_a_reason(more: dict[str, Any], reason: str) -> None:
    with pytest.raises(NotTried, match=f"^{re.escape(reason)}"):
        tried_cost(trial(**more))


def test_a_trial_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST", 0.0)
    with pytest.raises(NotTried, match="takes over 0 s of processor time with 30 peers"):
        module._run(trial())


def invoke(file: Path, *more: str) -> str:
    return CliRunner().invoke(app, ["validate", str(file), *more, "--measure"]).output


def test_the_command_says_why_it_tried_no_trial(tmp_path: Path, unmeasured: None) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(f"{SMALL}peers: 300\n".replace("peers: 30\n", "", 1))
    real = invoke(file, "--set", "runtime.kind=processes")
    assert "\nnot tried: oscar: runtime.kind is processes, and only trials on the virtual clock" in real
    file.write_text(f"{file.read_text()}faults: [{{name: a, at: 8 s, crash: {{peers: [250]}}}}]\n")
    few = invoke(file)
    assert "\nnot tried: oscar: cannot be drawn with 40 peers: faults.0.crash.peers: " in few
    told = json.loads(invoke(file, "--json"))["expected"]["not_tried"]
    assert list(told) == ["oscar"] and told["oscar"].startswith("cannot be drawn with 40 peers: ")


def test_the_command_says_that_the_time_for_trying_was_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unmeasured: None
) -> None:
    monkeypatch.setattr(prospect, "_LONGEST", 0.0)
    file = tmp_path / "small.yaml"
    file.write_text(f"{SMALL}vary: {{peers: [30, 31, 32, 33]}}\n")
    told = "oscar.peers=30, oscar.peers=31, oscar.peers=32 and 1 more: the 0 s in which variants are tried"
    assert f"\nnot tried: {told} were over" in invoke(file)


def test_the_command_tries_trials_when_it_is_asked(tmp_path: Path, unmeasured: None) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(SMALL)
    asked = [CliRunner().invoke(app, ["validate", str(file), *more]).output for more in ([], ["--measure"])]
    of_others = "(within a factor of 7: oscar was not measured, and taken for the mean of others)"
    assert of_others in asked[0] and asked[0].endswith("\n--measure tries them with few peers\n")
    assert "expected, in part from trials with few peers: " in asked[1]
    assert "of others" not in asked[1] and "not tried" not in asked[1] and "factor" not in asked[1]


def test_costs_that_are_known_are_not_said_to_come_from_trials(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(SMALL.replace("oscar", "chord"))
    text = invoke(file)
    assert "\nexpected: " in text and " of processor time in all (within a factor of 3.2), " in text
