"""What a trial takes is expected from trials of it with few peers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from emulator.experiment.file.spec import TrialSpec
from trellis import tried_cost as module
from trellis.command.cli import app
from trellis.expected_cost import Cost
from trellis.tried_cost import Tried, extrapolated, tried_cost

SMALL = """
name: small
peers: 30
repeat: 2
system: {name: chord}
workload: {lookups: {rate: 5}}
phases: {join: 2 s, settle: 5 s, measure: 5 s, drain: 2 s}
"""


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
    assert many.processor_s == pytest.approx(2.2 + 100 * 21 / 6)
    assert many.memory_bytes == pytest.approx(1112e6)


def test_a_small_trial_is_run_whole() -> None:
    cost = tried_cost(trial())
    assert cost is not None
    assert 0.01 < cost.processor_s < module.LONGEST
    assert 20e6 < cost.memory_bytes < 2e9


@pytest.mark.parametrize(
    "more",
    [
        {"runtime": {"kind": "processes"}},
        {"peers": 300, "faults": [{"name": "a", "at": "8 s", "crash": {"peers": [250]}}]},
    ],
    ids=["in real time", "peers that are not among the few"],
)
def test_nothing_is_expected_of_what_cannot_be_tried(more: dict[str, Any]) -> None:
    assert tried_cost(trial(**more)) is None


def test_a_trial_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST", 0.0)
    assert module._run(trial()) is None


def test_the_command_tries_trials_when_it_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "small.yaml"
    file.write_text(SMALL)
    asked = [CliRunner().invoke(app, ["validate", str(file), *more]).output for more in ([], ["--measure"])]
    assert "what trials take was not measured for: chord (--measure tries them with few peers)" in asked[0]
    assert "expected of 2 of them, in part from trials with few peers: " in asked[1]
    assert "not measured" not in asked[1]
