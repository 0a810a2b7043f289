"""The measures of an experiment over its runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from analysis.charts.results import ResultsError
from analysis.report.history import History, histories
from emulator.experiment.run.directory import RunDirectory
from trellis.command.cli import app

MakeRun = Callable[..., RunDirectory]
VARIANT = "rvr.friends=4"


def at(run: RunDirectory, created: str) -> RunDirectory:
    """Have a run be analysed at this time."""
    summary = json.loads(run.summary.read_text())
    summary["created"] = created
    run.summary.write_text(json.dumps(summary))
    return run


@pytest.fixture
def runs(make_run: MakeRun) -> list[RunDirectory]:
    """Return three runs, not in the order of their times, in which overhead halves and then grows."""
    return [
        at(make_run("c", factor=1.5), "2026-03-01T00:00:00+00:00"),
        at(make_run("a"), "2026-01-01T00:00:00+00:00"),
        at(make_run("b", factor=0.5), "2026-02-01T00:00:00+00:00"),
    ]


def of(found: list[History], measure: str) -> History:
    return next(each for each in found if (each.variant, each.measure) == (VARIANT, measure))


def test_runs_are_told_by_time_with_the_steps_that_seeds_can_tell(runs: list[RunDirectory]) -> None:
    past = of(histories(runs), "overhead").past
    assert [each.run.name for each in past] == ["a", "b", "c"]
    assert [each.step for each in past] == ["", "better", "worse"]


def test_a_difference_within_the_intervals_is_no_step(make_run: MakeRun) -> None:
    first, second = make_run("a"), make_run("b", factor=1.05)
    runs = [at(first, "2026-01-01T00:00:00+00:00"), at(second, "2026-02-01T00:00:00+00:00")]
    assert [each.step for each in of(histories(runs), "overhead").past] == ["", ""]


def test_a_run_without_the_measure_is_passed_over(runs: list[RunDirectory]) -> None:
    middle = runs[2]
    summary = json.loads(middle.summary.read_text())
    for variant in summary["variants"]:
        variant["measures"].pop("overhead")
    middle.summary.write_text(json.dumps(summary))
    past = of(histories(runs, ["overhead"]), "overhead").past
    assert [each.run.name for each in past] == ["a", "c"]


@pytest.mark.parametrize(
    ("name", "told"), [("loops", "Known: .*overhead"), ("overhed", r'Did you mean "overhead"\?')]
)
def test_a_measure_that_no_run_has_is_told_with_what_was_meant(
    runs: list[RunDirectory], name: str, told: str
) -> None:
    with pytest.raises(ResultsError, match=rf'no run has the measure "{name}"\. {told}'):
        histories(runs, [name])


def test_the_command_tells_of_a_worse_last_run(runs: list[RunDirectory], tmp_path: Path) -> None:
    folder, file = runs[0].path.parent, tmp_path / "steps.xml"
    asked = ["history", "friends", "--in", str(folder), "--measure", "overhead", "--junit", str(file)]
    done = CliRunner().invoke(app, asked, env={"COLUMNS": "160"})
    assert done.exit_code == 3, done.output
    assert "better" in done.output and "worse" in done.output
    suite = ElementTree.parse(file).getroot()
    assert int(suite.attrib["failures"]) > 0
    fields = json.loads(CliRunner().invoke(app, [*asked, "--json"]).output)
    (found,) = [each for each in fields if each["variant"] == VARIANT]
    assert [past["step"] for past in found["past"]] == ["", "better", "worse"]


def test_the_command_names_the_experiments_of_a_folder(runs: list[RunDirectory]) -> None:
    done = CliRunner().invoke(app, ["history", "others", "--in", str(runs[0].path.parent)])
    assert done.exit_code == 2
    assert "There are runs of friends" in done.output.replace("\n", " ")
