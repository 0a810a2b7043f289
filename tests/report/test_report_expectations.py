"""What a run that is not as expected says: on the terminal, on the page, and to continuous integration."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from analysis.report.junit import write_junit
from analysis.report.report import write_report
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.summary_file import read_summary
from trellis.command.outcome import say_summary

MakeRun = Callable[..., RunDirectory]


def expecting(run: RunDirectory, broken: dict[str, float | None]) -> RunDirectory:
    """Return the run with an expectation that these trials break."""
    summary = json.loads(run.summary.read_text())
    outcome = {
        "text": "hit_ratio >= 99 %",
        "measure": "hit_ratio",
        "unit": "share",
        "trials": len(summary["trials"]),
        "broken": [{"trial": trial, "measured": value} for trial, value in broken.items()],
        "holds": not broken,
    }
    run.summary.write_text(json.dumps(summary | {"expectations": [outcome]}))
    return run


BROKEN = {"rvr.friends=4-1": 0.93, "rvr.friends=4-2": None}


def test_a_valid_run_that_is_not_as_expected_ends_with_3_and_says_where(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    assert say_summary(expecting(make_run(), BROKEN)) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "valid"
    assert lines[-1] == (
        "not as expected: hit_ratio >= 99 %, in 2 of 12 trials "
        "(rvr, friends 4, seed 1: 93 %; rvr, friends 4, seed 2: not measured)"
    )


def test_what_is_told_of_an_invariant_stands_for_a_value_everywhere(
    make_run: MakeRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = expecting(make_run(), BROKEN)
    summary = json.loads(run.summary.read_text())
    told = "there are 2 rings, of 6 and 6 peers (at 80 s, peers 0, 6)"
    broken = [{"trial": "rvr.friends=4-1", "measured": None, "told": told}]
    summary["expectations"][0] |= {"text": "ring_is_one_cycle", "measure": "", "unit": "", "broken": broken}
    run.summary.write_text(json.dumps(summary))
    assert say_summary(run) == 3
    assert capsys.readouterr().out.splitlines()[-1].endswith(f"(rvr, friends 4, seed 1: {told})")
    write_report(run)
    assert told in run.report.read_text()
    write_junit(read_summary(run), tmp_path / "outcome.xml")
    (failure,) = ElementTree.parse(tmp_path / "outcome.xml").iter("failure")
    assert failure.get("message") == told


def test_a_run_that_is_as_expected_ends_with_0(make_run: MakeRun) -> None:
    assert say_summary(expecting(make_run(), {})) == 0


def test_an_invalid_run_ends_with_1_whatever_was_expected(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    assert say_summary(expecting(make_run(invalid=True), BROKEN)) == 1
    assert capsys.readouterr().out.startswith("INVALID: ")


@pytest.mark.parametrize(("broken", "says"), [(BROKEN, "✗ not in 2 of 12"), ({}, "✓ in each trial")])
def test_the_page_has_what_was_expected_before_the_measures(
    make_run: MakeRun, broken: dict[str, float | None], says: str
) -> None:
    page = write_report(expecting(make_run(), broken)).read_text()
    assert page.index("What was expected") < page.index(says) < page.index('id="claims"')
    assert ("rvr, friends 4, seed 2: not measured" in page) is bool(broken)


def test_a_run_without_expectations_has_no_such_section(make_run: MakeRun) -> None:
    assert "What was expected" not in write_report(make_run()).read_text()


def test_junit_has_a_case_for_each_condition_of_each_trial(make_run: MakeRun, tmp_path: Path) -> None:
    file = tmp_path / "outcome.xml"
    write_junit(read_summary(expecting(make_run(invalid=True), BROKEN)), file)
    suite = ElementTree.parse(file).getroot()
    assert suite.attrib == {"name": "friends", "tests": "24", "failures": "2", "errors": "1"}
    cases = {(case.get("classname"), case.get("name")): case for case in suite}
    assert len(cases) == 24
    found = {
        (*key, what.tag, what.get("message")) for key, case in cases.items() for what in case
    }  # fmt: skip
    late = "invalid: timer lateness, 99th percentile: 240 ms, limit 100 ms (use fewer peers)"
    assert found == {
        ("vitis.friends=4-2", "is valid", "error", late),
        ("rvr.friends=4-1", "hit_ratio >= 99 %", "failure", "it is 93 %"),
        ("rvr.friends=4-2", "hit_ratio >= 99 %", "failure", "it is not measured"),
    }


def test_what_no_xml_can_have_does_not_break_the_file(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run(invalid=True)
    summary = read_summary(run)
    summary["trials"][1]["reasons"] = ["a\x00b\x1b[31m<&>\ud800"]
    write_junit(summary, tmp_path / "outcome.xml")
    messages = [each.get("message") for each in ElementTree.parse(tmp_path / "outcome.xml").iter("error")]
    assert messages == ["invalid: a\ufffdb\ufffd[31m<&>\ufffd"]
