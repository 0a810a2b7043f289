"""Campaigns: trials drawn from ranges, and those that fail made smaller."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
import small_trial
from typer.testing import CliRunner

from emulator.experiment.file.document import ExperimentError
from emulator.experiment.file.draws import draw
from emulator.experiment.file.load import load
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.file.variants import trials
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.runs import create_run
from emulator.files.quantities import parse_duration, parse_rate, parse_share, parse_signed_duration
from trellis.campaign.drawing import campaign_of, draws_of
from trellis.campaign.replay import Failure, Replay
from trellis.command.cli import app


def many(ranges: Any) -> list[Any]:
    return [draw({"key": ranges}, Random(seed))["key"] for seed in range(200)]


def test_numbers_are_drawn_between_both_ends() -> None:
    assert set(many({"from": 2, "to": 5})) == {2, 3, 4, 5}
    shares = many({"from": 0.0, "to": 0.5})
    assert 0 <= min(shares) < 0.05 and 0.45 < max(shares) <= 0.5
    times = many({"from": "10 s", "to": "60 s"})
    assert all(time.endswith(" s") and 10 <= float(time[:-2]) <= 60 for time in times)
    assert {value[-2:] for value in many({"from": "0 %", "to": "5 %"})} == {" %"}


@pytest.mark.parametrize(
    ("low", "high", "parse"),
    [
        ("1000000 bit/s", "20000000 bit/s", parse_rate),
        ("1 kbit/s", "2 kbit/s", parse_rate),
        ("0.1 Gbit/s", "1 Gbit/s", parse_rate),
        ("0 %", "0.0001 %", parse_share),
        ("1000000 s", "3000000 s", parse_duration),
        ("-5 s", "5 s", parse_signed_duration),
    ],
)
def test_quantities_are_drawn_as_an_experiment_takes_them(
    low: str, high: str, parse: Callable[[Any], float]
) -> None:
    assert all(parse(low) <= parse(value) <= parse(high) for value in many({"from": low, "to": high}))


def test_small_numbers_are_drawn_between_both_ends() -> None:
    assert all(1e-7 <= number <= 4e-7 for number in many({"from": 1e-7, "to": 4e-7}))


def test_choices_and_lists_are_drawn_part_by_part() -> None:
    assert set(many(["a", "b"])) == {"a", "b"}
    assert set(many({"any": ["a", "b"]})) == {"a", "b"}
    faults = many({"number": [0, 2], "of": [{"at": {"from": 1, "to": 9}, "partition": {"share": 0.5}}]})
    assert {len(those) for those in faults} == {0, 1, 2}
    two = next(those for those in faults if len(those) == 2)
    assert [fault["name"] for fault in two] == ["drawn-1", "drawn-2"]
    assert all(1 <= fault["at"] <= 9 and fault["partition"] == {"share": 0.5} for fault in two)


@pytest.mark.parametrize(
    "ranges, told",
    [
        ({"from": 5, "to": 2}, "5 to 2 is no range"),
        ({"from": "10 s", "to": "1 min"}, "'10 s' to '1 min' is no range"),
        ({"from": 1, "to": "2 s"}, "is no range"),
        ({"min": 1, "max": 2}, "a range has the keys `from` and `to`"),
        ({"from": 1}, "a range has the keys `from` and `to`"),
        ({"any": 3}, "`any` is a list of values"),
        ({"number": [3, 1], "of": [1]}, "`number` is two whole numbers"),
        ({"number": [0, 1], "of": []}, "`of` lists what is drawn from"),
        ({"number": [0, 10**9], "of": [1]}, "a list has at most 1,000 drawn values"),
    ],
)
def test_what_is_no_range_is_named_with_its_key(ranges: Any, told: str) -> None:
    with pytest.raises(ValueError, match="key: ") as error:
        draw({"key": ranges}, Random(1))
    assert told in str(error.value)


@pytest.mark.parametrize(
    "faults", [[{"at": "3 s"}], {"number": [0, 3]}, {"at": "3 s", "crash": {"share": 0.1}}, 3]
)
def test_faults_that_are_not_written_as_drawn_ones_are_told_how(faults: Any) -> None:
    with pytest.raises(ValueError, match=r"faults: write .* \{number: \[0, 3\], of: \[...\]\}"):
        draw({"faults": faults}, Random(1))
    fixed = {"name": "cut", "at": "3 s"}
    assert draw({"faults": [[], [fixed]]}, Random(1))["faults"] in ([], [fixed])


FILE = """\
name: looks
system: chord
peers: 30
seed: 7
draw:
  peers: {from: 20, to: 50}
  network.loss: {from: 0 %, to: 3 %}
  faults:
    number: [0, 2]
    of: [{at: {from: 50 s, to: 60 s}, for: 5 s, partition: {share: 0.3}}]
workload: {lookups: {rate: 2}}
invariants: {every: 5 s}
phases: {join: 10 s, settle: 30 s, measure: 60 s, drain: 10 s}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "looks.yaml"
    made.write_text(FILE)
    return made


def test_each_trial_of_a_campaign_is_drawn_by_its_seed_alone(file: Path) -> None:
    spec = load(file)
    drawn = campaign_of(spec, file, 30)
    every = trials(drawn)
    assert [trial.spec.seed for trial in every] == list(range(7, 37))
    assert [trial.name for trial in every][:2] == ["chord.seed=7-7", "chord.seed=8-8"]
    assert len({trial.spec.peers for trial in every}) > 3
    assert {len(trial.spec.faults) for trial in every} == {0, 1, 2}
    (entry,) = draws_of(spec, 3).values()
    assert entry == next(iter(draws_of(spec, 30).values()))[:3]


@pytest.mark.parametrize(
    "old, new, told",
    [
        ("peers: {from: 20, to: 50}", "peers: {from: 50, to: 20}", ":6: draw: peers: 50 to 20 is no range"),
        ("  peers: {", "  peeers: {", ':6: draw: "peeers": there is no such key'),
        ("  peers: {", "  seed: {", ":6: draw.seed: each trial has a seed of its own"),
        ("for: 5 s", "for: {from: 1 s, to: 2 s}, name: one", "is the name of an earlier fault"),
        (
            "network.loss: {from: 0 %, to: 3 %}",
            "network.loss: {from: 0 %, to: 900 %}",
            ":7: draw.network.loss",
        ),
        ("seed: 7", "seed: 7\nvary: {peers: [3, 4]}", ":5: vary: has no place beside `draw`"),
        ("seed: 7", "seed: 7\nrepeat: 3", ":5: repeat: has no place beside `draw`"),
        (
            "seed: 7",
            "seed: 7\nfaults: [{name: cut, at: 3 s, for: 1 s, pause: {share: 0.1}}]",
            ":5: faults: would be left out, as `draw.faults` takes their place",
        ),
    ],
)
def test_draws_that_cannot_be_run_are_refused(file: Path, old: str, new: str, told: str) -> None:
    file.write_text(FILE.replace(old, new))
    with pytest.raises(ExperimentError) as error:
        campaign_of(load(file), file, 20)
    assert told in str(error.value)


def test_a_draw_without_a_plan_is_drawn_again_and_ranges_without_any_are_refused(file: Path) -> None:
    crash = "{at: 50 s, for: 5 s, crash: {share: {from: 0.1, to: 0.2}}}"
    file.write_text(FILE.replace("{at: {from: 50 s, to: 60 s}, for: 5 s, partition: {share: 0.3}}", crash))
    spec = load(file)
    drawn = campaign_of(spec, file, 12)
    hit = [len(trial.spec.faults) for trial in trials(drawn)]
    assert 2 in hit, "two crashes at a time may hit other peers"
    first = [len(row[3]) for row in next(iter(draws_of(spec, 12).values()))]
    assert hit != first and all(now == then for now, then in zip(hit, first, strict=True) if then < 2)
    always = "{at: 50 s, for: 5 s, crash: {share: 0.8}}"
    file.write_text(file.read_text().replace(crash, always).replace("number: [0, 2]", "number: [2, 2]"))
    with pytest.raises(ExperimentError, match=r"without a plan in 50 draws: draw\.faults\.1\.at"):
        campaign_of(load(file), file, 2)


def test_a_file_with_draws_is_run_by_its_own_command(file: Path) -> None:
    run = CliRunner().invoke(app, ["run", str(file)])
    assert run.exit_code == 2 and f"trellis campaign {file}" in " ".join(run.stderr.split())
    assert "valid: 20 trials" in CliRunner().invoke(app, ["validate", str(file)]).stdout
    file.write_text(FILE.replace("invariants: {every: 5 s}\n", ""))
    for command in ("campaign", "validate"):
        nothing = CliRunner().invoke(app, [command, str(file)])
        assert nothing.exit_code == 2 and "expect: nothing is expected that could break" in nothing.stderr


def test_a_run_that_is_no_campaign_is_told_how_to_go_on(file: Path, tmp_path: Path) -> None:
    directory = create_run(load(file).model_copy(update={"draw": {}}), tmp_path)
    refused = CliRunner().invoke(app, ["campaign", str(directory.path)])
    told = " ".join(refused.stderr.split())
    assert refused.exit_code == 2 and "is no campaign" in told and f"trellis run {directory.path}" in told


def test_a_campaign_draws_no_other_runtime(file: Path) -> None:
    measured = FILE.replace("invariants: {every: 5 s}", "expect: [lookup_success >= 1 %]")
    file.write_text(measured.replace("draw:\n", "draw:\n  runtime.kind: [virtual, processes]\n"))
    refused = CliRunner().invoke(app, ["campaign", str(file), "--trials", "9"])
    assert refused.exit_code == 2 and "campaigns run on the virtual clock" in refused.stderr


def test_a_condition_on_a_fault_does_not_fail_without_that_fault() -> None:
    values = small_trial.trial_spec("chord", 12, 40.0, workload={"lookups": {"rate": 1.0}}).model_dump(
        mode="json"
    )
    replay = Replay(lambda run: pytest.fail("it was run"))
    assert replay.fails(Failure("lookup_success >= 99 % during drawn-1", False), values) is None


def test_a_trial_that_had_no_time_to_settle_has_not_failed_as_one_with_a_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The ring that stands in for Chord's is broken until 20 s, and again from 75 s on."""

    def swept(run: RunDirectory, spec: TrialSpec, *given: object) -> list[Any]:
        begins = spec.phases.measure_start
        broken = [{"invariant": "ring_is_one_cycle", "at_s": begins if begins < 20 else 75.0}]
        trial = run.trial("chord-1")
        trial.path.mkdir(parents=True, exist_ok=True)
        trial.invariants.write_text(json.dumps({"looks": {}, "broken": broken}))
        return [SimpleNamespace(state="valid", trial="chord-1")]

    monkeypatch.setattr("trellis.campaign.replay.run_sweep", swept)
    split = {"name": "split", "at": "70 s", "for": "25 s", "partition": {"share": 0.5}}
    values = small_trial.trial_spec(
        "chord",
        12,
        40.0,
        workload={"lookups": {"rate": 1.0}},
        phases={"join": "10 s", "settle": "50 s", "measure": "60 s", "drain": "0 s"},
        faults=[split],
        invariants={"every": "1 s"},
    ).model_dump(mode="json")
    replay = Replay(lambda run: pytest.fail("no measure is needed"))
    failure = Failure("ring_is_one_cycle", True, calm_until=70.0)
    assert replay.fails(failure, values) and replay.fails(failure, values | {"faults": []})
    values["phases"] |= {"settle": "0 s", "measure": "110 s"}
    assert replay.fails(failure, values) is False
    assert replay.fails(failure, values | {"faults": []}) is False
    assert replay.fails(Failure("ring_is_one_cycle", True), values)
