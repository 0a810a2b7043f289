"""Puts and gets are drawn by the seed: each value once before the measure phase, the rest by rank in it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_experiment_load import problems

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.tables import Plan

PHASES = {"join": "10 s", "settle": "40 s", "measure": "50 s", "drain": "10 s"}


def spec(seed: int = 1, **values: Any) -> TrialSpec:
    asked = {"count": 30, "gets": 20.0} | values
    return TrialSpec.model_validate(
        {
            "system": {"name": "values-chord"},
            "peers": 12,
            "seed": seed,
            "workload": {"values": asked},
            "phases": PHASES,
        }
    )


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 2**63 - 1), updates=st.sampled_from([0.0, 2.0]), skew=st.sampled_from([0.0, 1.5]))
def test_each_value_is_put_before_the_measure_phase_and_versions_count_up(
    seed: int, updates: float, skew: float
) -> None:
    plan = draw_plan(spec(seed, updates=updates, skew=skew))
    puts, gets = plan.puts.to_pylist(), plan.gets.to_pylist()
    first, later = puts[:30], puts[30:]
    assert sorted(row["value"] for row in first) == list(range(30))
    assert all(30.0 <= row["at_s"] <= 50.0 and row["version"] == 1 for row in first)
    assert all(50.0 <= row["at_s"] <= 100.0 and row["version"] > 1 for row in later)
    assert bool(later) is (updates > 0)
    assert [row["put"] for row in puts] == list(range(len(puts)))
    assert [row["at_s"] for row in puts] == sorted(row["at_s"] for row in puts)
    assert all(50.0 <= row["at_s"] <= 100.0 for row in gets)
    keys = {row["value"]: row["key"] for row in puts}
    assert len(set(keys.values())) == 30
    assert all(keys[row["value"]] == row["key"] for row in [*puts, *gets])
    versions: Counter[int] = Counter()
    for row in puts:
        versions[row["value"]] += 1
        assert row["version"] == versions[row["value"]]


def test_popular_values_are_asked_for_by_their_rank() -> None:
    counts = Counter(row["value"] for row in draw_plan(spec(skew=1.0, gets=400.0)).gets.to_pylist())
    total = sum(1 / rank for rank in range(1, 31))
    for rank in (1, 2, 5):
        assert counts[rank - 1] / counts.total() == pytest.approx(1 / rank / total, rel=0.1)


def test_sizes_are_one_number_or_have_a_uniform_logarithm() -> None:
    assert {row["bytes"] for row in draw_plan(spec(bytes=77)).puts.to_pylist()} == {77}
    sizes = {"least": 10, "most": 100_000}
    drawn = [row["bytes"] for row in draw_plan(spec(count=2000, bytes=sizes)).puts.to_pylist()]
    assert min(drawn) >= 10
    assert max(drawn) <= 100_000
    assert sum(size < 1000 for size in drawn) / len(drawn) == pytest.approx(0.5, abs=0.05)


def test_the_plan_is_read_back_as_it_was_drawn(tmp_path: Path) -> None:
    asked = spec(updates=1.0)
    plan = draw_plan(asked)
    plan.write(tmp_path)
    assert Plan.read(tmp_path, asked.workload.kind) == plan


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("count: 0", "workload.values.count: is 0, but"),
        ("bytes: 2000000", "is 2000000, but has to be from 0 to 1,000,000"),
        ("bytes: {least: 10, most: 5}", "is 10, more than most (5)"),
        ("gets: 1000000", "gets in the measure phase, more than the 5,000,000 that a trial may have"),
        ("updates: 1000000", "puts, more than the 5,000,000 that a trial may have"),
        ("sizes: 4", "is not a known key"),
        ("bytes: {leas: 10, most: 15}", "is not a known key"),
        ("bytes: many", "has to be a whole number of bytes, such as 131072"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_its_line(tmp_path: Path, change: str, told: str) -> None:
    key = change.partition(":")[0]
    given_ = {"count": "count: 30", "gets": "gets: 20"} | {key: change}
    file = tmp_path / "experiment.yaml"
    file.write_text(
        "name: v\nsystem: {name: values-chord}\npeers: 12\nworkload:\n  values:\n"
        + "".join(f"    {line}\n" for line in given_.values())
        + "phases: {join: 10 s, settle: 40 s, measure: 50 s, drain: 10 s}\n"
    )
    found = problems(file)[0]
    assert re.match(r"experiment.yaml:\d+: workload\.values", found)
    assert told in found


def test_values_need_a_settle_phase_to_be_put_in(tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    file.write_text(
        "name: v\nsystem: {name: values-chord}\npeers: 12\nworkload: {values: {count: 3, gets: 2}}\n"
        "phases: {join: 10 s, settle: 0 s, measure: 50 s, drain: 10 s}\n"
    )
    (found,) = problems(file)
    assert found.startswith("experiment.yaml:4: workload.values.count: ")
    assert found.endswith("Make phases.settle longer than 0")
