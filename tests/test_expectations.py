"""Conditions that an experiment expects of its trials: what may be written, and when one is broken."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from analysis.contract.measures import Measure
from analysis.expectations import Broken, Outcome, judge_expectations
from emulator.experiment.file.document import ExperimentError
from emulator.experiment.file.expectation import Expectation
from emulator.experiment.file.load import load
from emulator.experiment.file.resolved import resolved_yaml
from trellis.command.cli import app

EXPERIMENT = """\
name: small
system: {name: vitis}
peers: 10
workload:
  subscriptions: {kind: random, topics: 20, per_peer: 2, buckets: 1}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "small.yaml"


def validated(file: Path, *expected: str) -> Any:
    file.write_text(EXPERIMENT + "expect:\n" + "".join(f"  - {text}\n" for text in expected))
    return CliRunner().invoke(app, ["validate", str(file)], catch_exceptions=False)


@pytest.mark.parametrize(
    ("text", "measured", "holds"),
    [
        ("hit_ratio >= 0.99", 0.99, True),
        ("hit_ratio >= 99 %", 0.99, True),
        ("hit_ratio>=99%", 0.9899, False),
        ("delay_ms_p99 <= 2 s", 2000.0, True),
        ("delay_ms_p99 <= 2 s", 2000.1, False),
        ("delay_ms < 250 us", 0.2, True),
        ("delay_ms < 0.5 min", 30_000.0, False),
        ("duplicates == 0", 0.0, True),
        ("duplicates == 0", 1e-9, False),
        ("popularity_exponent > -1.5e0", -1.4, True),
        ("state.overlay/friend_utility > 2", 2.0, False),
    ],
)
def test_an_expectation_holds_for_values_in_the_unit_of_its_measure(
    text: str, measured: float, holds: bool
) -> None:
    assert Expectation.parse(text).holds(measured) is holds


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("hit_ratio", "a measure, one of <=, >=, ==, < and >, and a number"),
        ("hit_ratio => 1", "a measure, one of"),
        ("0.99 <= hit_ratio", "a measure, one of"),
        ("hit_ratio >= nan", "a measure, one of"),
        ("hit_ratio >= 1 or 1", "a measure, one of"),
        ("hit_ratio >= 99 percent", '"percent" is no unit of an expectation. Use %, us, ms, s, min, or none'),
        ("hit_ratoi >= 0.9", 'its trials have no such measure. Did you mean "hit_ratio"?'),
        ("success > 0.5", "its trials have no such measure"),
        ("delay_ms <= 99 %", "delay_ms is in ms, not in %"),
        ("hit_ratio >= 2 s", "hit_ratio is in share, not in s"),
        ("popularity_exponent >= 2 s", "popularity_exponent has no unit, not in s"),
    ],
)
def test_what_is_no_expectation_is_refused_at_its_line_before_anything_runs(
    file: Path, text: str, told: str
) -> None:
    result = validated(file, "hit_ratio >= 0", f'"{text}"')
    assert result.exit_code == 2
    assert f"{file}:8: expect[1]: is " in result.stderr.replace(f'"{text}": ', "")
    assert told in result.stderr.replace("\n", " ")


def test_expectations_of_the_trials_own_measures_are_valid(file: Path) -> None:
    expected = ["hit_ratio >= 99 %", "delay_ms_p99 <= 2 s", "duplicates == 0", "state.anything <= 3"]
    assert validated(file, *expected).exit_code == 0


def test_expectations_are_kept_in_the_run_and_leave_no_trace_where_there_are_none(file: Path) -> None:
    file.write_text(EXPERIMENT)
    assert "expect" not in resolved_yaml(load(file))
    file.write_text(EXPERIMENT + "expect: [hit_ratio >= 0.5]\n")
    spec = load(file)
    file.write_text(resolved_yaml(spec))
    assert load(file) == spec
    assert spec.expect == ["hit_ratio >= 0.5"]


@given(st.text(max_size=60))
def test_any_text_is_an_expectation_or_refused_in_words(text: str) -> None:
    try:
        assert Expectation.parse(text).measure in text
    except ValueError as error:
        assert "expectation" in str(error)


@dataclass
class Record:
    name: str


def judged(values: dict[str, dict[str, float | None]], *expected: str) -> list[Outcome]:
    spec: Any = type("Spec", (), {"expect": list(expected)})
    records: Any = [Record(name) for name in values]
    about = {"hit_ratio": Measure("hit ratio", "share", "higher", "")}
    return judge_expectations(spec, records, values, about)


def test_each_trial_is_compared_and_one_that_was_not_measured_is_not_as_expected() -> None:
    values = {"a-1": {"hit_ratio": 0.995}, "a-2": {"hit_ratio": 0.9}, "b-1": {"hit_ratio": None}, "b-2": {}}
    (outcome,) = judged(values, "hit_ratio >= 99 %")
    assert (outcome.text, outcome.unit, outcome.trials) == ("hit_ratio >= 99 %", "share", 4)
    assert outcome.broken == [Broken("a-2", 0.9), Broken("b-1", None), Broken("b-2", None)]
    assert not outcome.holds
    assert judged({"a-1": {"hit_ratio": 1.0}}, "hit_ratio >= 99 %")[0].holds
    assert not judged({}, "hit_ratio >= 99 %")[0].holds


def test_a_hundred_expectations_are_enough(file: Path) -> None:
    file.write_text(EXPERIMENT + f"expect: {['hit_ratio >= 0'] * 101}\n")
    with pytest.raises(ExperimentError, match="expect"):
        load(file)
