"""The steps of a run that several commands take: analysing it, and writing its report."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from trellis.command.exits import UserError, err, last_resort

if TYPE_CHECKING:
    from analysis.early_start import EarlySpark
    from analysis.engine.stages import Tell
    from emulator.experiment.run.directory import RunDirectory
    from trellis.command.terminal import Screen


def new_screen() -> Screen:
    """Return what shows the progress of the command."""
    from trellis.command.terminal import Screen

    return Screen(err)


def given_command(directory: RunDirectory) -> str:
    """Return the command by which a run was begun: that of its status, or this one."""
    from emulator.experiment.run.runs import command_of

    return command_of(directory, shlex.join(["trellis", *sys.argv[1:]]))


def need_writable(directory: RunDirectory) -> None:
    """Raises UserError if no file can be made in a run directory.

    It tries a file, as permissions alone do not tell of a file system that is mounted for reading.
    """
    try:
        with TemporaryFile(dir=directory.path):
            return
    except OSError as error:
        why = error.strerror or type(error).__name__
    path = shlex.quote(str(directory.path))
    raise UserError(
        f"{path} cannot be written ({why}), and nothing was done. Make it writable, or take a copy: "
        f"cp -R {path} COPY"
    )


def need_junit(file: Path | None) -> None:
    """Raises UserError if the file for JUnit XML cannot be written, before there is an outcome to write."""
    if file is None:
        return
    folder, told = file.parent, f"--junit {shlex.quote(str(file))} cannot be written"
    if file.is_dir():
        raise UserError(f"{told}: it is a folder. Name a file in it, such as {file / 'junit.xml'}")
    if file.exists() and not file.is_file():
        raise UserError(f"{told}: it is no file. Name another one")
    if not folder.is_dir():
        raise UserError(f"{told}: there is no such folder. Make it: mkdir -p {shlex.quote(str(folder))}")
    try:
        with TemporaryFile(dir=folder):
            return
    except OSError as error:
        why = error.strerror or type(error).__name__
    raise UserError(f"{told} ({why}). Make {folder} writable, or name a file in another folder")


@contextmanager
def told_to_operators(directory: RunDirectory, step: str) -> Iterator[None]:
    """Trace a step, if the environment asks for it, below the span of the run's trial.

    Nothing is left when the step has ended, since processes may be forked later.
    """
    from analysis.trial_traces import analysis_span
    from emulator.tracing import spans

    spans.begin("analysis")
    try:
        with analysis_span(directory, step):
            yield
    finally:
        spans.end()


def kept_analysis(directory: RunDirectory, screen: Screen) -> bool:
    """Return whether the run has an analysis of what it has by now, and say so."""
    from emulator.experiment.run.analyzed import is_analyzed

    if not is_analyzed(directory):
        return False
    again = f"trellis analyze {shlex.quote(str(directory.path))}"
    screen.say(f"the analysis is kept; to make it again: {again}")
    return True


def analyze_run(directory: RunDirectory, screen: Screen, early: EarlySpark | None = None) -> None:
    """Make the tables and the summary of a run. Raises UserError if Spark fails."""

    def whole(tell: Tell) -> None:
        from analysis.pipeline import analyze

        analyze(directory, tell, early.session() if early else None)

    _read_telemetry(directory, screen, "analyzing", whole)


def judge_run(directory: RunDirectory, screen: Screen) -> None:
    """Make the summary of a run by what its experiment expects, without tables. Raises UserError if Spark
    fails."""

    def expected(tell: Tell) -> None:
        from analysis.judging import judge

        judge(directory, tell)

    _read_telemetry(directory, screen, "judging", expected)


def _read_telemetry(directory: RunDirectory, screen: Screen, word: str, read: Callable[[Tell], None]) -> None:
    with screen.step(word, 0) as step:
        from analysis.engine.failures import SparkError, spark_in_words
        from analysis.engine.jvm import JavaError
        from analysis.engine.stages import Standing
        from emulator.trials.sweep import alone

        def tell(standing: Standing) -> None:
            step.stage(standing.stage, standing.share, standing.left_s)

        try:
            with alone(directory), spark_in_words(directory), told_to_operators(directory, "analysis"):
                read(tell)
        except JavaError as error:
            again = f"trellis analyze {shlex.quote(str(directory.path))}"
            raise UserError(f"{error}. The telemetry is kept; analyze it with: {again}") from None
        except SparkError as error:
            raise UserError(f"{error} ({last_resort(error)})") from None


def report_run(
    directory: RunDirectory,
    screen: Screen,
    junit: Path | None = None,
    events: Sequence[int] = (),
    traces_at: str = "",
) -> None:
    """Write the report of an analysed run with the trees of these events, and its outcome as JUnit XML.

    `traces_at` is as in `Results`. Raises UserError and OSError.
    """
    if events:
        _check_events(directory, events)
    with screen.step("writing the report", 0):
        from analysis.charts.results import ResultsError
        from analysis.report.report import write_report

        try:
            with told_to_operators(directory, "report"):
                write_report(directory, events, traces_at)
        except ResultsError as error:
            raise UserError(str(error)) from None
        report_outcome(directory, junit)


def _check_events(directory: RunDirectory, events: Sequence[int]) -> None:
    """Raise UserError if one of these events cannot be drawn."""
    from analysis.charts.chosen_events import check_asked_events
    from analysis.charts.results import Results, ResultsError

    try:
        check_asked_events(replace(Results.read(directory), asked_events=tuple(events)))
    except ResultsError as error:
        raise UserError(str(error)) from None


def report_outcome(directory: RunDirectory, junit: Path | None) -> None:
    """Write the outcome of an analysed run as JUnit XML, if a file is named. Raises OSError."""
    if junit is not None:
        from analysis.report.junit import write_junit
        from emulator.experiment.run.summary_file import read_summary

        write_junit(read_summary(directory), junit)
