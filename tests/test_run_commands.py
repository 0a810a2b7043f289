"""The commands about run directories on this machine: runs, status, open, clean."""

from __future__ import annotations

import io
import json
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from emulator.experiment.run.directory import RunDirectory
from emulator.trials.sweep import alone
from trellis.command import run_status, watching
from trellis.command.cli import app

EXPERIMENT = """\
name: small
system: {name: vitis}
peers: 10
repeat: 2
workload:
  subscriptions: {kind: random, topics: 20, per_peer: 2, buckets: 1}
"""
DAY = 86_400
PROGRESS = {
    "phase": "measure", "trial_time": 50.0, "trial_end": 80.0, "peers_up": 10, "asked": 3, "delivered": 5,
    "messages": 9, "words": ["published", "delivered"],
}  # fmt: skip


@pytest.fixture
def trellis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Calls the command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments, **more: CliRunner().invoke(
        app, [str(a) for a in arguments], catch_exceptions=False, **more
    )


def made(name: str, *states: str, valid: bool | None = None, days: float = 0) -> RunDirectory:
    """Make a run in these states of its trials, with a summary and a report if `valid` is told, which was
    written so many days ago."""
    run = RunDirectory(Path("runs", name))
    run.path.mkdir(parents=True)
    run.experiment.write_text(EXPERIMENT)
    for number, state in enumerate(states, 1):
        trial = run.trial(f"vitis-{number}")
        trial.path.mkdir(parents=True)
        trial.write_status(state=state, reasons=["late"] if state == "invalid" else [], progress=PROGRESS)
    if valid is not None:
        run.report.parent.mkdir()
        run.summary.write_text(json.dumps({"valid": valid, "reasons": []}))
        run.report.write_text("report")
    then = time.time() - days * DAY
    for number, file in enumerate(
        [run.experiment, *run.path.glob("trials/*/status.json"), run.summary, run.report]
    ):
        if file.exists():
            os.utime(file, (then + number, then + number))
    return run


def test_runs_are_listed_by_age_with_state_verdict_and_trials(trellis: Callable[..., Result]) -> None:
    made("a-done", "valid", "valid", valid=True, days=3)
    made("b-bad", "valid", "invalid", valid=False, days=2)
    made("c-cut", "valid", "running", days=1)
    made("d-failed", "failed", "failed", days=4)
    made("e-planned", days=5)
    Path("runs/notes").mkdir()
    told = json.loads(trellis("runs", "--json").stdout)
    assert [
        (Path(r["run"]).name, r["state"], r["verdict"], r["trials_ended"], r["trials"]) for r in told
    ] == [
        ("c-cut", "interrupted", "", 1, 2),
        ("b-bad", "reported", "invalid", 2, 2),
        ("a-done", "reported", "valid", 2, 2),
        ("d-failed", "ended", "failed", 2, 2),
        ("e-planned", "planned", "", 0, 2),
    ]
    assert told[2]["age_s"] == pytest.approx(3 * DAY, abs=60)
    files = [path for path in Path("runs/a-done").rglob("*") if path.is_file()]
    assert told[2]["bytes"] == sum(path.stat().st_size for path in files)
    lines = trellis("runs").stdout
    assert "c-cut" in lines and "1 of 2" in lines and "3 d" in lines


def test_a_run_that_cannot_be_read_is_listed_with_the_reason(trellis: Callable[..., Result]) -> None:
    made("a").experiment.write_text("peers: [")
    result = trellis("runs")
    assert result.exit_code == 0
    assert "unreadable" in result.stdout and "runs/a/experiment.yaml:1" in result.stdout


def test_a_folder_that_is_not_there_is_bad_input(trellis: Callable[..., Result]) -> None:
    result = trellis("runs", "elsewhere")
    assert result.exit_code == 2
    assert "there is no folder elsewhere" in result.stderr


def test_status_tells_what_a_run_does_and_how_to_go_on(trellis: Callable[..., Result]) -> None:
    run = made("a", "valid", "running")
    with alone(run):
        lines = trellis("status", run.path).stdout.splitlines()
    assert lines[0] == "run runs/a: running"
    assert lines[1] == "experiment small: 2 trials, 1 valid, 1 running"
    assert lines[3].startswith("  vitis-2: running: measure, 50 of 80 s, 10 peers up, 3 published")
    lines = trellis("status", run.path).stdout.splitlines()
    assert lines[0] == "run runs/a: interrupted"
    assert lines[-1] == "nothing runs; go on with: trellis run runs/a"


def test_status_names_variants_as_a_report_does(trellis: Callable[..., Result]) -> None:
    run = made("a")
    run.experiment.write_text(EXPERIMENT + "vary: {network.loss: [0, 0.05]}\n")
    trial = run.trial("vitis.loss=0.05-1")
    trial.path.mkdir(parents=True)
    trial.write_status(state="valid", reasons=[], progress=PROGRESS)
    assert "  vitis.loss=0.05-1 (loss 5 %, seed 1): valid" in trellis("status", run.path).stdout
    trials = json.loads(trellis("status", run.path, "--json").stdout)["standing"]["trials"]
    assert [trial["label"] for trial in trials] == [
        f"loss {loss} %, seed {seed}" for loss in (0, 5) for seed in (1, 2)
    ]


def test_validate_names_the_first_variants_as_a_report_does(trellis: Callable[..., Result]) -> None:
    values = list(range(20, 32))
    Path("mine.yaml").write_text(EXPERIMENT + f"vary: {{peers: {values}}}\n")
    said = trellis("validate", "mine.yaml").stdout
    assert f"\nvariants: {'; '.join(f'peers {each}' for each in values[:10])}; and 2 more\n" in said


def test_status_watches_a_run_until_nothing_runs(
    trellis: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = made("a", "valid", "running")
    held = ExitStack()
    held.enter_context(alone(run))
    monkeypatch.setattr(watching, "sleep", lambda seconds: held.close())
    lines = trellis("status", run.path, "--watch").stdout.splitlines()
    assert lines[0] == "run runs/a: running"
    assert lines[-2:] == ["run runs/a: interrupted", "nothing runs; go on with: trellis run runs/a"]
    assert len([line for line in lines if line.startswith("experiment small")]) == 1


def test_on_a_terminal_the_last_view_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=40, height=5, highlight=False)
    monkeypatch.setattr(watching, "out", console)
    monkeypatch.setattr(watching, "sleep", lambda seconds: None)
    many = [f"line {number}" for number in range(9)]
    views = iter([watching.View(["first"], ended=False), watching.View(many, ended=True)])
    watching.watch(lambda: next(views))
    assert isinstance(console.file, io.StringIO)
    said = console.file.getvalue()
    assert "first" in said and "\n".join(many[-4:]) in said, "what fits is the end"
    assert said.endswith("\n".join(many) + "\n"), "all is there at last"


def test_status_prints_json(trellis: Callable[..., Result]) -> None:
    made("a", "valid", "invalid", valid=False)
    told = json.loads(trellis("status", "runs/a", "--json").stdout)
    assert (told["state"], told["verdict"]) == ("reported", "invalid")
    assert [trial["state"] for trial in told["standing"]["trials"]] == ["valid", "invalid"]
    assert {trial["label"] for trial in told["standing"]["trials"]} == {""}, "there is one variant"


@pytest.mark.parametrize("command", ["status", "open"])
def test_a_name_with_a_slash_means_a_run_directory(trellis: Callable[..., Result], command: str) -> None:
    result = trellis(command, "runs/nothing")
    assert result.exit_code == 2
    assert "runs/nothing is not a run directory" in result.stderr


def test_open_prints_the_report_and_says_if_there_is_no_browser(
    trellis: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = made("a", "valid", "valid", valid=True)
    opened: list[str] = []
    for name in ("WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(run_status.sys, "platform", "linux")
    monkeypatch.setattr(run_status.typer, "launch", lambda address: opened.append(address) or 1)
    result = trellis("open", run.path)
    assert result.stdout.strip() == "runs/a/report/index.html"
    assert "no browser could be opened" in result.stderr
    assert opened == [run.report.resolve().as_uri()]
    monkeypatch.delenv("DISPLAY")
    assert "no browser could be opened" in trellis("open", run.path).stderr
    assert trellis("open", run.path, "--no-browser").stderr == ""
    assert len(opened) == 1


def test_a_damaged_summary_is_told_beside_an_earlier_report(trellis: Callable[..., Result]) -> None:
    run = made("a", "valid", "valid", valid=True)
    run.summary.write_text('{"valid')
    then = time.time() + DAY
    os.utime(run.summary, (then, then))
    os.utime(run.report, (then + 1, then + 1))
    result = trellis("open", run.path, "--no-browser")
    assert result.stdout.strip() == "runs/a/report/index.html"
    assert "runs/a has the report of an earlier analysis: its summary.json is damaged" in result.stderr
    assert trellis("status", run.path).stdout.endswith("trellis analyze runs/a; trellis report runs/a\n")
    refused = trellis("report", run.path)
    assert refused.exit_code == 2
    assert "writing the report" not in refused.stderr


def test_status_of_a_campaign_that_was_only_judged_says_analyze_before_report(
    trellis: Callable[..., Result],
) -> None:
    run = made("a", "valid", "valid", valid=True)
    run.report.unlink()
    last = trellis("status", run.path).stdout.splitlines()[-1]
    assert last == "all measures and a report: trellis analyze runs/a; trellis report runs/a"
    run.tables.mkdir()
    assert trellis("status", run.path).stdout.endswith("write its report: trellis report runs/a\n")


def test_open_of_a_run_without_a_report_says_where_to_look(trellis: Callable[..., Result]) -> None:
    result = trellis("open", made("a", "valid").path)
    assert result.exit_code == 2
    assert "has no report yet. See what it lacks: trellis status runs/a" in result.stderr


@pytest.mark.parametrize("command", ["report", "export"])
def test_a_run_that_is_not_analyzed_says_how_to_or_who_is_at_it(
    trellis: Callable[..., Result], command: str
) -> None:
    run = made("my run", "valid", "valid")
    result = trellis(command, run.path)
    assert result.exit_code == 2
    assert "is not analyzed. First: trellis analyze 'runs/my run'" in result.stderr
    with alone(run):
        busy = trellis(command, run.path)
    assert busy.exit_code == 2 and "trellis analyze" not in busy.stderr
    assert "another trellis runs or analyzes it. See: trellis status 'runs/my run'" in busy.stderr


@pytest.mark.parametrize("command", ["report", "analyze", "status", "open", "compare"])
def test_a_file_in_place_of_a_run_directory_is_told(trellis: Callable[..., Result], command: str) -> None:
    Path("x.yaml").write_text(EXPERIMENT)
    result = trellis(command, "x.yaml", *(["y"] if command == "compare" else []))
    assert result.exit_code == 2
    assert "x.yaml is not a run directory: it is a file. Name the run directory" in result.stderr


def left() -> set[str]:
    return {path.name for path in Path("runs").iterdir()}


def test_clean_removes_what_is_failed_or_old_after_it_has_asked(trellis: Callable[..., Result]) -> None:
    made("good", "valid", "valid", valid=True, days=40)
    made("bad", "valid", "invalid", valid=False, days=40)
    made("failed", "failed", "failed", days=1)
    every = {"good", "bad", "failed"}
    result = trellis("clean", "--failed", "--dry-run")
    assert "bad" in result.stdout and "failed" in result.stdout and "good" not in result.stdout
    refused = trellis("clean", "--failed", input="n\n")
    assert refused.exit_code == 1 and "nothing was removed" in refused.stdout
    unasked = trellis("clean", "--failed")
    assert unasked.exit_code == 2 and "there was no answer, and nothing was done" in unasked.stderr
    assert left() == every
    assert trellis("clean", "--failed", "--older-than", "30 d", input="y\n").exit_code == 0
    assert left() == {"good", "failed"}
    assert "removed runs/good" in trellis("clean", "--older-than", "30 d", "--yes").stdout
    assert left() == {"failed"}


def test_clean_keeps_runs_that_run_and_folders_with_other_files(trellis: Callable[..., Result]) -> None:
    busy = made("busy", "failed", "failed", days=40)
    (made("own", "failed", "failed", days=40).path / "paper.tex").write_text("mine")
    with alone(busy):
        result = trellis("clean", "--older-than", "1 d", "--yes")
    assert left() == {"busy", "own"}
    assert "runs/busy is kept: it is analyzing" in result.stderr
    assert "runs/own is kept: it has paper.tex, which Trellis did not make" in result.stderr


def test_clean_lists_as_json_what_it_removes_and_asks_nothing(trellis: Callable[..., Result]) -> None:
    made("good", "valid", "valid", valid=True)
    made("bad", "valid", "invalid", valid=False)
    unsaid = trellis("clean", "--failed", "--json", input="y\n")
    assert unsaid.exit_code == 2 and "Add --dry-run to list runs, or --yes to remove them" in unsaid.stderr
    listed = trellis("clean", "--failed", "--json", "--dry-run")
    assert left() == {"bad", "good"}
    removed = trellis("clean", "--failed", "--json", "--yes")
    for result in (listed, removed):
        assert [(each["run"], each["verdict"]) for each in json.loads(result.stdout)] == [
            ("runs/bad", "invalid")
        ]
    assert left() == {"good"}
    assert json.loads(trellis("clean", "--failed", "--json", "--yes").stdout) == []


def test_clean_wants_to_be_told_which_runs(trellis: Callable[..., Result]) -> None:
    made("a", "failed", "failed")
    for options, told in (((), "say which runs"), (("--older-than", "30"), "a duration needs a number")):
        result = trellis("clean", *options)
        assert result.exit_code == 2
        assert told in result.stderr
    assert left() == {"a"}
