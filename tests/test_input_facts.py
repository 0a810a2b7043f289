"""What validate, plan and report tell of inputs, and that validate refuses whatever the plan refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from emulator.experiment.file.load import load
from emulator.experiment.file.variants import trials
from emulator.experiment.plan.check_plans import check_plans, lines_of
from emulator.experiment.plan.inputs_file import read_inputs
from emulator.experiment.run.directory import RunDirectory
from emulator.files.damage import DamagedFile
from emulator.files.input_facts import Facts
from emulator.trials.sweep import Update
from trellis.command.cli import app
from trellis.command.inputs import InputWarnings

GOOD = """\
name: small
system: {name: vitis}
peers: 50
phases: {join: 1 s, settle: 4 s, measure: 4 s, drain: 1 s}
network: {latency: {kind: constant}}
workload:
  subscriptions: {kind: random, topics: 20, per_peer: 3}
  publications: {events: 5}
"""
MATRIX = "network.latency={kind: planetlab, file: m.txt}"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(GOOD)
    (tmp_path / "m.txt").write_text("0 0 80\n0 0 81\n80 81 0\n")
    return tmp_path


def told(command: str, *options: str, status: int = 0) -> str:
    chosen = [word for option in options for word in ("--set", option)]
    result = CliRunner().invoke(app, [command, "small.yaml", *chosen], catch_exceptions=False)
    assert result.exit_code == status, result.stdout + result.stderr
    return result.stdout + result.stderr


def test_validate_and_plan_tell_the_same_of_a_file(here: Path) -> None:
    for command in ("validate", "plan"):
        text = told(command, MATRIX)
        assert "network.latency: 3 hosts, 3 pairs: RTT 80 ms to 161 ms, mean 107 ms" in text
        assert "1 of 3 pairs without a measurement got the shortest path" in text
        assert "warning: network.latency: 1 pair has an RTT of 0" in text


def test_a_run_warns_of_inputs_once_as_soon_as_a_plan_is_there(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told("plan", MATRIX, "repeat=2")
    (run,) = here.glob("runs/*")
    warnings = InputWarnings(RunDirectory(run))
    warnings.update(Update("vitis-1", "running"))
    assert not capsys.readouterr().err
    for state in ("valid", "valid"):
        warnings.update(Update("vitis-1", state))
    warnings.update(Update("vitis-2", "valid"))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("warning: network.latency: 1 pair has an RTT of 0")
    assert line.endswith("(in vitis-1)")


def test_a_plan_without_anything_to_tell_has_no_file_of_it(here: Path) -> None:
    told("plan")
    (plan,) = here.glob("runs/*/trials/*/plan")
    assert not (plan / "inputs.json").exists()
    assert read_inputs(plan) == {}
    (plan / "inputs.json").write_text("[1]")
    with pytest.raises(DamagedFile, match=r"inputs.json is damaged"):
        read_inputs(plan)


def test_a_crash_that_hits_nobody_is_warned_of(here: Path) -> None:
    assert "nobody crashes: 0.005 of the 50 peers that are up at 5 s are rounded to none" in told(
        "validate", "churn.crash={at: 5 s, share: 0.005}"
    )
    assert "churn.crash: 1 peer crashes at 5 s" in told("validate", "churn.crash={at: 5 s, share: 0.02}")


def test_a_role_of_nobody_and_peers_without_interests_are_warned_of(here: Path) -> None:
    assert "roles.relay: 0.001 of 50 peers are rounded to none" in told(
        "validate", "workload.roles.relay=0.001"
    )
    (here / "g").write_text("".join(f"1 {leaf}\n" for leaf in range(2, 51)))
    graph = "workload.subscriptions={kind: edges, file: g}"
    assert "49 of 50 peers that may subscribe have no interests" in told("validate", graph)
    (here / "g").write_text("".join(f"{peer} {peer + 1}\n" for peer in range(1, 50)))
    assert "1 of 50 peers that may subscribe has no interests" in told("validate", graph)


@pytest.mark.parametrize(
    ("option", "content", "reason"),
    [
        ("workload.subscriptions={kind: editors-file, file: f}", "1,1\n1,2\n2,3\n", "has 3 editors in all"),
        (
            "workload.subscriptions={kind: editors-file, file: f, articles: 1}",
            "".join(f"{number},{number}\n" for number in range(60)),
            "has 1 editors of these articles, but the trial needs 50",
        ),
        ("workload.subscriptions={kind: editors, articles: 10, mean: 300}", "", "has a mean of 300"),
        (
            "churn.model={kind: trace, file: f, start: 0 s, compress: 1}",
            "".join(f"n{number}\t1\t500 600\n" for number in range(60)),
            "no node is up from 0 s to 10 s of the trace; the next begins at 500 s. Move the window",
        ),
    ],
)
def test_validate_refuses_what_the_plan_refuses(here: Path, option: str, content: str, reason: str) -> None:
    (here / "f").write_text(content)
    assert reason in told("validate", option, status=2)


EDITORS = "  subscriptions:\n    kind: editors-file\n    articles: 1\n    file: f\n"
SELDOM = "churn: {model: {kind: poisson, mean_session: 10 ms, mean_gap: 100 h}}\n"
VARIED = """\
vary:
  peers: [50, 60]
  workload.subscriptions: [{kind: editors-file, articles: 1, file: f}]
"""


@pytest.mark.parametrize("command", ["validate", "plan"])
@pytest.mark.parametrize(
    ("text", "content", "refusal"),
    [
        (
            GOOD.replace("  subscriptions: {kind: random, topics: 20, per_peer: 3}\n", EDITORS),
            "".join(f"{number},{number}\n" for number in range(60)),
            "small.yaml:10: workload.subscriptions.file: {here}/f: has 1 editors",
        ),
        (GOOD + SELDOM, "", "small.yaml:8: workload.publications: an event at "),
        (
            GOOD + VARIED,
            "".join(f"{number},{number}\n" for number in range(60)),
            "small.yaml:11: vary.workload.subscriptions[0].file: {here}/f: has 1 editors",
        ),
    ],
    ids=["editors", "no audience", "varied"],
)
def test_what_only_a_plan_shows_names_line_and_key_of_the_file(
    here: Path, command: str, text: str, content: str, refusal: str
) -> None:
    (here / "f").write_text(content)
    (here / "small.yaml").write_text(text)
    output = " ".join(told(command, status=2).split())
    assert refusal.format(here=here) in output
    assert "(so no plan can be drawn for vitis" in output


def test_a_run_names_line_and_key_for_a_trial_whose_plan_was_refused(here: Path) -> None:
    (here / "small.yaml").write_text(GOOD + SELDOM)
    assert "small.yaml:8: workload.publications: an event at " in told("run", status=1)


def test_what_only_a_plan_shows_names_the_option_that_has_it(here: Path) -> None:
    output = told("validate", "churn.model={kind: poisson, mean_session: 10 ms, mean_gap: 100 h}", status=2)
    assert "small.yaml:8: workload.publications: an event at " in output
    (here / "f").write_text("1,1\n1,2\n2,3\n")
    output = told("validate", "workload.subscriptions={kind: editors-file, file: f}", status=2)
    assert (
        "--set workload.subscriptions={kind: editors-file, file: f}: workload.subscriptions.file: " in output
    )


def test_a_plan_is_drawn_once_for_all_systems_and_only_while_there_is_time(here: Path) -> None:
    spec = load(here / "small.yaml", ["vary={system.name: [vitis, rvr]}", "repeat=3"])
    drawn: list[str] = []
    found = check_plans(trials(spec), drawn.append)
    assert (found.plans, found.drawn, found.refused) == (3, 3, {})
    assert drawn == ["vitis-1", "vitis-2", "vitis-3"]
    assert check_plans(trials(spec), longest=-1.0).drawn == 0


def test_a_line_says_in_which_plans_it_holds_and_no_more_than_asked_for_are_told() -> None:
    inputs = {"a": {"x": Facts(("one", "two"), ("odd",))}, "b": {"x": Facts(("one",))}}
    assert lines_of(inputs) == (
        ["x: one", "x: two (in 1 of 2 plans, such as a)"],
        ["x: odd (in 1 of 2 plans, such as a)"],
    )
    assert lines_of(inputs, most=1)[0] == ["x: one", "and 1 more"]
