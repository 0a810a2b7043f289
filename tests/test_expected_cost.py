"""Trials are expected to take about what `docs/performance.md` says that they took."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.load import load
from emulator.experiment.plan.tables import Plan
from emulator.experiment.run.directory import TrialDirectory
from emulator.layouts.layout import lay_out
from emulator.runtime.virtual.run_virtual import run_virtual
from trellis.expected_cost import expected_cost, expected_events
from trellis.measured_rates import RATES

PERFORMANCE = (Path(__file__).parent.parent / "docs" / "performance.md").read_text()
_ROW = re.compile(
    r"^\| compiled, state packed, .* \| ([\d,]+) \| (\d+) \| (\d+) \| ([\d.]+) \|$", re.MULTILINE
)
MEASURED = [
    (int(peers.replace(",", "")), float(s), float(gib)) for peers, s, _, gib in _ROW.findall(PERFORMANCE)
]


def trial(peers: int, system: str = "vitis", **more: Any) -> TrialSpec:
    """Return a trial of 60 s of trial time."""
    fields = {
        "system": {"name": system, "parameters": {"period": "1 s"}},
        "peers": peers,
        "workload": {"subscriptions": {"kind": "random", "topics": 2, "per_peer": 1}},
        "phases": {"join": "10 s", "settle": "10 s", "measure": "30 s", "drain": "10 s"},
    }
    return TrialSpec.model_validate(fields | more)


def test_there_are_measurements_to_compare_with() -> None:
    assert [peers for peers, _, _ in MEASURED] == [300, 1_000, 10_000]


@pytest.mark.parametrize(("peers", "seconds", "gib"), MEASURED)
def test_a_trial_is_expected_to_take_what_one_like_it_took(peers: int, seconds: float, gib: float) -> None:
    cost = expected_cost(trial(peers))
    assert cost is not None
    assert cost.processor_s == pytest.approx(seconds, rel=0.15)
    assert cost.memory_bytes == pytest.approx(gib * 2**30, rel=0.05)


def test_nothing_is_expected_of_what_was_not_measured() -> None:
    assert expected_cost(trial(300, "rvr")) is None  # its load is not known
    assert expected_cost(trial(300, "rvr"), load=0) is not None
    assert expected_cost(trial(20_000)) is None
    assert expected_cost(trial(300, runtime={"kind": "processes"})) is None


def test_longer_rounds_take_less() -> None:
    slow = trial(300, system="vitis")
    slow.system.parameters["period"] = "2 s"
    once, half = expected_cost(trial(300)), expected_cost(slow)
    assert once is not None and half is not None
    assert half.processor_s == pytest.approx(once.processor_s / 2)


@pytest.mark.parametrize("system", ["rvr", "opt", "gossipsub"])
def test_a_trial_is_expected_to_have_half_to_twice_the_events_that_it_has(
    system: str, tmp_path: Path
) -> None:
    phases = {"join": "2 s", "settle": "8 s", "measure": "10 s", "drain": "2 s"}
    workload = {
        "subscriptions": {"kind": "random", "topics": 10, "per_peer": 3},
        "publications": {"events": 20},
    }
    spec = TrialSpec.model_validate(
        {"system": {"name": system}, "peers": 60, "phases": phases, "workload": workload}
    )
    plan, directory = draw_plan(spec), TrialDirectory(tmp_path / "trial")
    directory.path.mkdir()
    outcome = run_virtual(lay_out(spec, plan), plan, directory, lambda _: None)
    expected = expected_events(spec, RATES[system], load(plan))
    assert 0.5 < expected / outcome.measured["loop_events"] < 2


def test_the_load_of_a_plan_is_each_event_at_each_subscriber_and_each_lookup() -> None:
    peers = pa.table({"peer": [0, 1, 2]})
    subscriptions = pa.table({"topic": [7, 7, 8]})
    publications = pa.table({"topic": pa.array([7, 7, 9, None], pa.int32())})
    lookups = pa.table({"lookup": [0, 1]})
    plan = Plan(peers, pa.table({}), subscriptions=subscriptions, publications=publications, lookups=lookups)
    assert load(plan) == 2 * 2 + 3 + 2
