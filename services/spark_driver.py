"""Runs an experiment on the virtual clock, on executors, and analyses it:

`python -m services.spark_driver --experiment experiment.yaml --run /var/lib/trellis/run --executors 8`

Without executors, trials run in processes of this machine. The exit status is 0 if every trial ended, well or
not, and the report is written.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from analysis.engine.executors import Executors
from analysis.trial_traces import analysis_span
from emulator.experiment.file.document import ExperimentError
from emulator.experiment.file.load import load
from emulator.experiment.file.spec import ExperimentSpec
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.earlier_runs import begin_turn
from emulator.experiment.run.runs import NoRun, take_up
from emulator.files.damage import DamagedFile
from emulator.trials.sweep import RunBusy, Update, default_jobs, run_sweep
from emulator.trust.credentials import NoCredentials
from services.analysis import (
    FAILURES,
    add_executor_options,
    add_upload,
    conclude,
    end,
    note,
    session_with,
    wanted_executors,
)
from services.endings import in_words
from services.result_upload import upload_results
from services.self_telling import tell_of_self


@in_words
def main() -> int:
    """Run the program.

    The exit status is 0 when the report is written, 1 if it cannot be, 2 for bad input.
    """
    parser = argparse.ArgumentParser(description="Runs an experiment on the virtual clock, on executors")
    parser.add_argument("--experiment", type=Path, required=True)
    parser.add_argument("--run", type=Path, required=True, help="the run directory, made or taken up")
    add_executor_options(parser)
    add_upload(parser)
    parser.add_argument(
        "--turn", default=os.environ.get("TRELLIS_TURN", ""), help="the name of a turn of a schedule"
    )
    parser.add_argument("--keep", type=int, default=0, help="runs of earlier turns that stay")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, end)
    try:
        tell_of_self("analysis")
        spec = load(arguments.experiment)
        folder = arguments.run.resolve()
        if arguments.turn:
            begin_turn(RunDirectory(folder), arguments.turn, arguments.keep)
        run = take_up(folder, spec, arguments.experiment)
    except (ExperimentError, NoRun, DamagedFile, NoCredentials) as error:
        print(error, file=sys.stderr, flush=True)
        return 2
    try:
        executors = wanted_executors(arguments)
        _run_and_conclude(run, spec, executors)
        if arguments.upload:
            upload_results(run, arguments.upload, note)
    except (*FAILURES, RunBusy) as error:
        print(error, file=sys.stderr, flush=True)
        return 1
    return 0


def _run_and_conclude(run: RunDirectory, spec: ExperimentSpec, executors: Executors | None) -> None:
    command = os.environ.get("TRELLIS_COMMAND", "")
    if executors is None:
        run_sweep(run, spec, default_jobs(spec), _tell, command)
        with analysis_span(run, "analysis"), session_with(None) as spark:
            conclude(run, spark)
        return
    from trellis.on_spark.driver import run_on_executors

    with session_with(executors) as spark:
        run_on_executors(run, spec, spark, _tell, command)
        with analysis_span(run, "analysis"):
            conclude(run, spark)


def _tell(update: Update) -> None:
    if update.progress is None:  # `status.json` has the progress
        note(f"{update.trial} {update.state}{' (kept)' * update.kept} {'; '.join(update.reasons)}".rstrip())


if __name__ == "__main__":
    sys.exit(main())
