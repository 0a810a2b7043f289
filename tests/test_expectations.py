"""Conditions that an experiment expects of its trials: what may be written, and when one is broken."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_trial import trial_spec
from typer.testing import CliRunner

from analysis.contract.measures import Measure
from analysis.expectations import Broken, Outcome, judge_expectations, misfits
from analysis.measures.measure_run import Measured
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
        ("hit_ratio >= 57 %", 57 / 100, True),
        ("hit_ratio <= 99.99 %", 9999 / 10_000, True),
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
    assert Expectation.parse(text).holds(measured, "ms" if "delay_ms" in text else "") is holds


@pytest.mark.parametrize(
    ("words", "written"),
    [
        ("p99 delay <= 2 s", "delay_ms_p99 <= 2 s"),
        ("p50 delay <= 2 s from 10 s after split", "delay_ms_median <= 2 s from 10 s after split"),
        ("mean delay <= 2 s", "delay_ms <= 2 s"),
        ("hit ratio >= 0.9", "hit_ratio >= 0.9"),
    ],
)
def test_a_measure_in_words_is_answered_by_its_name(words: str, written: str) -> None:
    with pytest.raises(ValueError, match=f'Write "{re.escape(written)}"$'):
        Expectation.parse(words)


def test_times_in_seconds_may_be_expected_in_any_unit_of_time() -> None:
    for text, holds in [
        ("10 s", True),
        ("10000 ms", True),
        ("9.9 s", False),
        ("0.2 min", True),
        ("10", True),
    ]:
        expectation = Expectation.parse(f"recovery_s <= {text}")
        assert not expectation.misfit("s") and expectation.holds(10.0, "s") is holds
    assert Expectation.parse("recovery_s <= 9 %").misfit("s") == "recovery_s is in s, not in %"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("hit_ratio", "a measure, one of <=, >=, ==, < and >, and a number"),
        ("hit_ratio => 1", "a measure, one of"),
        ("0.99 <= hit_ratio", "a measure, one of"),
        ("coverage >= much", "a measure, one of"),
        ("hit_ratio >= nan", "a measure, one of"),
        ("hit_ratio >= 1 or 1", "a measure, one of"),
        ("hit_ratio >= 99 percent", '"percent" is no unit of an expectation. Use %, us, ms, s, min, or none'),
        ("hit_ratoi >= 0.9", 'its trials have no such measure. Did you mean "hit_ratio"?'),
        ("success > 0.5", 'its trials have no such measure. Write "hit_ratio > 0.5"'),
        ("latency < 100 ms", 'its trials have no such measure. Write "delay_ms < 100 ms"'),
        ("latency < 9 %", "its trials have no such measure. Known: "),
        (
            "lookup_success > 0.5",
            "it is one of the workload lookups, and theirs is topics. Theirs are: hit_ratio, ",
        ),
        (
            "recovery_s < 5 s",
            "it is measured of trials with `faults` or an attack for a time, and the experiment has none",
        ),
        ("delay_ms <= 99 %", "delay_ms is in ms, not in %"),
        ("hit_ratio >= 2 s", "hit_ratio is in share, not in s"),
        ("popularity_exponent >= 2 s", "popularity_exponent has no unit, not in s"),
        ("hit_ratio >= 99", "hit_ratio is a share, of which 1 is all. Write 99 %"),
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
    of_parts = {"after split": {name: {"hit_ratio": 0.5} for name in values}}
    return judge_expectations(spec, records, Measured(values, about, of_parts=of_parts))


def test_each_trial_is_compared_and_one_that_was_not_measured_is_not_as_expected() -> None:
    values = {"a-1": {"hit_ratio": 0.995}, "a-2": {"hit_ratio": 0.9}, "b-1": {"hit_ratio": None}, "b-2": {}}
    (outcome,) = judged(values, "hit_ratio >= 99 %")
    assert (outcome.text, outcome.unit, outcome.trials) == ("hit_ratio >= 99 %", "share", 4)
    assert outcome.broken == [Broken("a-2", 0.9), Broken("b-1", None), Broken("b-2", None)]
    assert outcome.measured == {"a-1": 0.995, "a-2": 0.9, "b-1": None, "b-2": None}
    assert not outcome.holds
    assert judged({"a-1": {"hit_ratio": 1.0}}, "hit_ratio >= 99 %")[0].holds
    assert not judged({}, "hit_ratio >= 99 %")[0].holds


def test_a_count_that_is_shown_only_above_0_is_0_in_a_trial_without_one() -> None:
    values: dict[str, dict[str, float | None]] = {
        "a-1": {"link_drops": None},
        "a-2": {"link_drops": 3.0},
        "a-3": {},
    }
    (outcome,) = judged(values, "link_drops == 0")
    assert outcome.broken == [Broken("a-2", 3.0), Broken("a-3", None)]


def test_an_expectation_of_a_part_is_compared_with_the_measures_of_that_part() -> None:
    values: dict[str, dict[str, float | None]] = {"a-1": {"hit_ratio": 0.9}}
    whole, after, before = judged(
        values, "hit_ratio > 0.8", "hit_ratio > 0.8 after split", "hit_ratio > 0.8 before split"
    )
    assert whole.holds
    assert after.broken == [Broken("a-1", 0.5)]
    assert before.broken == [Broken("a-1", None)], "nothing was measured before the split"


PHASES = {"join": "10 s", "settle": "30 s", "measure": "60 s", "drain": "10 s"}
SPLIT = {"name": "split", "at": "50 s", "for": "10 s", "partition": {"share": 0.5}}
DARK = {"name": "dark", "at": "70 s", "partition": {"share": 0.5}}
ATTACK = {"share": 0.2, "behaviour": "black-hole", "at": "45 s", "for": "35 s"}


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("before split", (40, 50)),
        ("during split", (50, 60)),
        ("after split", (60, 100)),
        ("from 10 s after split", (70, 100)),
        ("from 500 ms after split", (60.5, 100)),
        ("during dark", (70, 100)),
        ("from 60 s", (60, 100)),
        ("until 1 min", (40, 60)),
        ("from 45 s until 80 s", (45, 80)),
        ("from 1 s", (40, 100)),
        ("before attack", (40, 45)),
        ("during attack", (45, 80)),
        ("from 10 s after attack", (90, 100)),
    ],
)
def test_a_part_of_a_trial_is_within_its_measure_phase(text: str, window: tuple[float, float]) -> None:
    spec = trial_spec("vitis", 10, 100.0, phases=PHASES, faults=[SPLIT, DARK], attackers=ATTACK)
    part = Expectation.parse(f"hit_ratio >= 0.99 {text}").part
    assert part is not None and part.text == text and part.window((40.0, 100.0), spec.windows) == window


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("hit_ratio > 0.5 after spilt", 'there is no fault "spilt". Did you mean "split"?'),
        ("hit_ratio > 0.5 from 70 s after split", 'nothing of the measure phase (40 to 100 s) is "from 70'),
        ("hit_ratio > 0.5 during attack", "the trial has no attackers"),
        ("hit_ratio > 0.5 after dark", "nothing of the measure phase"),
        ("hit_ratio > 0.5 until 40 s", "nothing of the measure phase"),
        ("hit_ratio > 0.5 from 10 after split", "is no part of a trial"),
        ("hit_ratio > 0.5 from 10 s before split", "is no part of a trial"),
        ("bytes_per_event > 5 after split", "cannot be had of a part of a trial. These can: hit_ratio, exp"),
        ("state.anything > 5 after split", "its trials have no such measure"),
        ("hit_ratio > 5 s after split", "hit_ratio is in share, not in s"),
    ],
)
def test_a_part_that_no_trial_has_is_refused_at_its_line(file: Path, text: str, told: str) -> None:
    faults = f"faults: {[SPLIT, DARK]}\nphases: {PHASES}\n"
    file.write_text(EXPERIMENT + faults + f"expect: [{text}]\n")
    result = CliRunner().invoke(app, ["validate", str(file)], catch_exceptions=False)
    assert result.exit_code == 2 and f"{file}:8: " in result.stderr
    assert told in " ".join(result.stderr.split())


def test_a_part_by_a_fault_of_an_experiment_without_faults_is_refused(file: Path) -> None:
    file.write_text(EXPERIMENT + "expect: [hit_ratio > 0.5 after split]\n")
    result = CliRunner().invoke(app, ["validate", str(file)])
    assert 'no fault "split". The trial has no faults at all' in " ".join(result.stderr.split())


def test_parts_that_trials_have_are_valid(file: Path) -> None:
    faults = f"faults: {[SPLIT]}\nphases: {PHASES}\nexpect:\n"
    texts = [
        "hit_ratio >= 99 % from 10 s after split",
        "delay_ms_p99 <= 2 s during split",
        "repeated == 0 until 50 s",
    ]
    file.write_text(EXPERIMENT + faults + "".join(f"  - {text}\n" for text in texts))
    assert CliRunner().invoke(app, ["validate", str(file)]).exit_code == 0


def test_a_hundred_expectations_are_enough(file: Path) -> None:
    file.write_text(EXPERIMENT + f"expect: {['hit_ratio >= 0'] * 101}\n")
    with pytest.raises(ExperimentError, match="expect"):
        load(file)


def test_a_recovery_of_what_the_workload_does_not_have_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "experiment.yaml"
    text = EXPERIMENT + "faults: [{name: split, at: 45 s, for: 5 s, partition: {share: 0.5}}]\n"
    of_lookups = text.replace("vitis", "chord").replace(
        "subscriptions: {kind: random, topics: 20, per_peer: 2, buckets: 1}", "lookups: {rate: 2}"
    )
    of_topics = (
        "it needs the measure lookup_success, which its trials do not have. Their recovery is measured"
    )
    for experiment, expected, told in [
        (text, "recovery_s <= 10 s", ""),
        (text, "lookup_recovery_s <= 10 s", f"{of_topics} by recovery_s and maintenance_recovery_s"),
        (of_lookups, "lookup_recovery_s <= 10 s", ""),
        (of_lookups, "maintenance_recovery_s <= 10 s", ""),
        (of_lookups, "recovery_s <= 10 s", "measured by lookup_recovery_s and maintenance_recovery_s"),
    ]:
        file.write_text(f"{experiment}expect: [{expected}]\n")
        (found,) = misfits(load(file)).values() or [""]
        assert told in found and bool(told) is bool(found)
