"""Analyses a run whose trials others conduct:

`python -m services.analysis --run /var/lib/trellis/run --executors 2`

Waits until every trial has ended, then writes tables, summary and report. Whether the run is valid is told
there; the exit status is 0 if the analysis worked.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from analysis.charts.results import ResultsError
from analysis.engine.executors import ClusterError, Executors
from analysis.engine.failures import SparkError, spark_in_words
from analysis.engine.jvm import JavaError
from analysis.trial_traces import analysis_span
from emulator.experiment.file.document import ExperimentError
from emulator.experiment.plan.provenance import OtherPlan
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.runs import NoRun
from emulator.files.damage import DamagedFile
from emulator.tracing.spans import span
from emulator.trials.run_progress import Reader
from emulator.trust.credentials import NoCredentials
from services.endings import in_words
from services.result_upload import upload_results
from services.self_telling import tell_of_self

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PAUSE = 5.0
_A_DAY = 86400.0
_UNREADABLE = 30.0
"""The seconds for which a run may be unreadable: a volume may recover, but a bad file stays bad."""


class TooLate(Exception):
    """The trials did not end in time."""


FAILURES = (ClusterError, JavaError, SparkError, OtherPlan, DamagedFile, ResultsError)
"""The errors that end an analysis with a sentence."""
_TOLD = (*FAILURES, TooLate, ExperimentError, NoRun, NoCredentials)


@in_words
def main() -> int:
    """Run the program.

    The exit status is 0 when the report is written, 1 if it cannot be, 143 when told to end.
    """
    parser = argparse.ArgumentParser(description="Analyses a run whose trials others conduct")
    parser.add_argument("--run", type=Path, required=True, help="the run directory; it need not be there yet")
    parser.add_argument(
        "--wait-limit", type=float, default=_A_DAY, help="seconds for the trials (%(default)g)"
    )
    parser.add_argument("--experiment", type=Path, help="the file of the experiment that the run is to be of")
    add_executor_options(parser)
    add_upload(parser)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, end)
    run = RunDirectory(arguments.run.resolve())
    try:
        tell_of_self("analysis")
        executors = wanted_executors(arguments)
        await_trials(run, arguments.wait_limit, wanted=arguments.experiment)
        with analysis_span(run, "analysis"), session_with(executors) as spark:
            conclude(run, spark)
        if arguments.upload:
            upload_results(run, arguments.upload, note)
    except _TOLD as error:
        print(error, file=sys.stderr, flush=True)
        return 1
    return 0


def add_executor_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which executors the driver starts."""
    given = os.environ.get
    parser.add_argument("--executors", type=int, default=0, help="pods for Spark; 0 is this machine alone")
    parser.add_argument(
        "--executor-cores", type=int, default=given("TRELLIS_EXECUTOR_CORES", "1"), help="tasks at once"
    )
    parser.add_argument(
        "--executor-memory", default=given("TRELLIS_EXECUTOR_MEMORY", "1Gi"), help="of the pod, such as 1Gi"
    )


def add_upload(parser: argparse.ArgumentParser) -> None:
    """Add the option that says where the run goes besides."""
    parser.add_argument(
        "--upload", metavar="PLACE", default="", help="copy the run there, such as s3://bucket/prefix"
    )


def wanted_executors(arguments: argparse.Namespace) -> Executors | None:
    """Return the executors that the options ask for; None for this machine alone. Raises ClusterError."""
    if not arguments.executors:
        return None
    return Executors.wanted(
        arguments.executors, arguments.executor_cores, arguments.executor_memory, os.environ
    )


def await_trials(
    run: RunDirectory,
    limit: float,
    sleep: Callable[[float], None] = time.sleep,
    wanted: Path | None = None,
) -> None:
    """Wait until every trial has ended, in whatever state.

    Raises TooLate after `limit` seconds, and NoRun if the run is of another experiment than the `wanted` one,
    or stays unreadable, such as one of a system that is not installed here.
    """
    reader = Reader(run, wanted)
    deadline = time.monotonic() + limit
    told, unreadable = "", 0.0
    while not (standing := reader.read()).ended:
        counts = ", ".join(f"{count} {state}" for state, count in sorted(standing.counts.items()))
        if reader.refusal:
            raise NoRun(reader.refusal)
        unreadable = unreadable + _PAUSE if standing.problem else 0.0
        if unreadable > _UNREADABLE:
            raise NoRun(standing.problem)
        where = standing.problem or (f"trials: {counts}" if counts else f"there is no run in {run.path} yet")
        if where != told:
            note(where)
            told = where
        if time.monotonic() + _PAUSE > deadline:
            raise TooLate(f"the trials have not ended in {limit:g} s: {where}")
        sleep(_PAUSE)


@contextmanager
def session_with(executors: Executors | None) -> Iterator[SparkSession]:
    """Open a session of Spark. It is imported only now because it would take memory while the trials run."""
    from analysis.engine.cluster_session import cluster_session
    from analysis.engine.spark_session import spark_session

    note(f"starting Spark with {executors.count} executors" if executors else "starting Spark")
    with contextlib.ExitStack() as stack:
        with span("starting Spark"):
            session = cluster_session(executors) if executors else spark_session()
            spark = stack.enter_context(session)
        yield spark


def conclude(run: RunDirectory, spark: SparkSession) -> None:
    """Write tables, summary and report."""
    from analysis.engine.stages import in_words
    from analysis.pipeline import analyze
    from analysis.report.report import write_report

    # The analysis has a thread of its own, so that Spark can be stopped under it when this process has to
    # end.
    with ThreadPoolExecutor(1) as pool, spark, spark_in_words(run):
        summary = pool.submit(copy_context().run, analyze, run, in_words(note), spark).result()
    note("writing the report")
    with span("report"):
        write_report(run)
    note("the run is valid" if summary["valid"] else f"the run is not valid: {'; '.join(summary['reasons'])}")


def note(text: str) -> None:
    """Print what is being done."""
    print(text, flush=True)


def end(signal_number: int, frame: object) -> NoReturn:
    """Exit with the status of a program that a signal has ended."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(128 + signal_number)


if __name__ == "__main__":
    sys.exit(main())
