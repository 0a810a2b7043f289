"""The report of a run: one self-contained HTML page."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jinja2 import UndefinedError

from analysis.charts.results import Results, ResultsError
from analysis.report.by_what_is_varied import shown_by_what_is_varied
from analysis.report.expected import measured_text
from analysis.report.faults_told import fault_rows
from analysis.report.measures_section import groups_of_page, measures_shown
from analysis.report.outcome import leading, outcome
from analysis.report.page import render
from analysis.report.setting import facts, time_scale
from analysis.report.shown import Shown
from analysis.report.variant_filter import variant_filter
from emulator.experiment.plan.check_plans import lines_of
from emulator.experiment.plan.inputs_file import read_inputs
from emulator.experiment.run.directory import RunDirectory, write_whole
from emulator.files.damage import DamagedFile
from emulator.files.input_facts import Facts


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One fidelity check over all trials: the trial that came closest to its limit, or beyond it."""

    name: str
    unit: str
    measured: float | None
    """The measured value; None if it was measured in no trial."""
    limit: float
    trial: str
    failed: int
    """The number of trials beyond the limit."""
    unmeasured: int
    """The number of trials in which it was not measured."""
    told_by: str
    """The hosts that told of it in that trial, such as "1 of 2 hosts"; empty if all did."""

    @property
    def silent(self) -> bool:
        """This is true if the check needs no row of its own: its limit is 0, and all hosts measured 0."""
        return not (self.limit or self.unmeasured or self.told_by) and self.measured == 0

    @property
    def used(self) -> float:
        """The share of the limit that was used, at most 1."""
        if self.measured is None:
            return 0.0
        return min(self.measured / self.limit, 1.0) if self.limit else float(self.measured > 0)


@dataclass(frozen=True, slots=True)
class AbsenceRow:
    """The peers of a host that were not up as planned, because it had died. Times are seconds of
    trial time."""

    trial: str
    host: str
    peers: int
    from_s: float
    until_s: float
    back: int
    """The number of these peers that joined again."""


def write_report(run: RunDirectory, events: Sequence[int] = (), traces_at: str = "") -> Path:
    """Write `report/index.html` at once and return its path. It has the delivery trees of these events, or of
    typical ones, with links to their traces if there is an address for `Results.traces_at`.

    Raises `analysis.charts.results.ResultsError` if the run was not analyzed, or its results lack something.
    """
    try:
        page = _page(replace(Results.read(run), asked_events=tuple(events), traces_at=traces_at))
    except UndefinedError as error:
        raise ResultsError(
            f"{run.summary} or a file of a trial lacks what a report tells ({error}): it is damaged, or of "
            f"another version of Trellis. Make it again: trellis analyze {shlex.quote(str(run.path))}"
        ) from None
    run.report.parent.mkdir(parents=True, exist_ok=True)
    write_whole(run.report, page)
    return run.report


def _page(results: Results) -> str:
    run = results.run
    shown = Shown.by(results)
    groups = groups_of_page(results)
    main = [chart.name.removeprefix("sweep-") for chart in shown.charts["variants"]]
    came_out = outcome(results, [group.rows for group in groups], main)
    came_out = replace(came_out, conditions=[*shown.leads, *came_out.conditions])
    figures = {part: shown_by_what_is_varied(results, charts) for part, charts in shown.charts.items()}
    by_id = {chart.name: chart for charts in figures.values() for chart in charts}
    head = leading(figures)
    measures = measures_shown(results, groups)
    told = [line.name for _, lines in measures.extremes for line in lines]
    return render(
        "report.html",
        results=results,
        summary=results.summary,
        title=results.summary.get("title") or results.summary.get("experiment") or run.path.name,
        verdict=verdict(results.summary),
        inputs=input_lines(run),
        facts=facts(results.experiment, results.summary, shown.setting),
        time_scale=time_scale(results.experiment),
        command=command_line(results.summary.get("command", "")),
        checks=list(check_rows(results.trials)),
        away=list(absence_rows(results.trials)),
        fault_rows=fault_rows,
        peers_away=sum(absence.peers for absence in absence_rows(results.trials)),
        not_numbers=[(t["trial"], row) for t in results.trials for row in t.get("not_numbers", [])],
        whose=whose(results.trials),
        outcome=came_out,
        run_path=shlex.quote(str(run.path)),
        measures=measures,
        filter=variant_filter(results, list(came_out.ranges), came_out.every, told),
        unmeasured=unmeasured(results),
        troubles=[*results.summary.get("troubles", []), *(trouble.text for trouble in shown.troubles)],
        head=[by_id[name] for name in head],
        figures=figures,
        expectations=results.summary.get("expectations", []),
        measured_text=measured_text,
        claims=results.claims,
        sections=shown.sections,
    )


def input_lines(run: RunDirectory) -> tuple[list[str], list[str]]:
    """Return what is told of the inputs of the trials, and the warnings."""
    found: dict[str, Mapping[str, Facts]] = {}
    for trial in run.trials():
        try:
            found[trial.name] = read_inputs(trial.plan)
        except DamagedFile as error:
            found[trial.name] = {"plan": Facts((), (str(error),))}
    return lines_of(found)


def verdict(summary: Mapping[str, Any]) -> tuple[bool, list[str]]:
    """Return whether the run is valid, and the reasons why it is not (never empty if it is not)."""
    if summary["valid"]:
        return True, []
    reasons = list(summary.get("reasons") or [])
    if not reasons:
        reasons = [
            f"{trial['trial']}: {reason}"
            for trial in summary["trials"]
            if not trial["valid"]
            for reason in trial["reasons"] or [f"the trial is {trial['state']}"]
        ]
    return False, reasons or ["no reason was recorded"]


def command_line(command: str | Sequence[str]) -> str:
    """Return the command as it is typed in a shell."""
    return command if isinstance(command, str) else shlex.join(command)


def check_rows(trials: Sequence[Mapping[str, Any]]) -> Iterator[CheckRow]:
    """Yield each check once, with its worst trial."""
    found: dict[str, list[tuple[tuple[float, bool], str, Mapping[str, Any]]]] = {}
    for trial in trials:
        for check in (trial.get("fidelity") or {}).get("checks", []):
            found.setdefault(check["name"], []).append((_excess(check), trial["trial"], check))
    for name, entries in found.items():
        _, trial_name, worst = max(entries, key=lambda entry: entry[0])
        yield CheckRow(
            name,
            worst["unit"],
            worst["measured"],
            worst["limit"],
            trial_name,
            failed=sum(not check["ok"] for _, _, check in entries),
            unmeasured=sum(check["measured"] is None for _, _, check in entries),
            told_by=worst.get("told_by") or "",
        )


def _excess(check: Mapping[str, Any]) -> tuple[float, bool]:
    """Return how near a check is to its limit or beyond it; of equal ones, one that not all told of
    is worse."""
    if check["measured"] is None:
        return -1.0, False
    share = check["measured"] / check["limit"] if check["limit"] else check["measured"] * 1e9
    return share, bool(check.get("told_by"))


def whose(trials: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return, for each variant whose measures lack the telemetry of some hosts, whose telemetry they are made
    of."""
    found: dict[str, list[str]] = {}
    for trial in trials:
        if trial.get("told_by") and trial["measures"]:
            found.setdefault(trial["variant"], []).append(f"{trial['trial']}: of {trial['told_by']}")
    return found


def absence_rows(trials: Sequence[Mapping[str, Any]]) -> Iterator[AbsenceRow]:
    """Yield all absences, by trial and time; summaries of earlier versions have none."""
    for trial in trials:
        for absence in trial.get("absences", []):
            yield AbsenceRow(trial["trial"], **absence)


def unmeasured(results: Results) -> list[tuple[str, str]]:
    """Return the measures that failed, or gave no number, and why, each once."""
    return list(
        dict.fromkeys(
            (str(results.measures[name]["title"]), why)
            for trial in results.trials
            for name, why in trial.get("unmeasured", {}).items()
        )
    )
