"""The sweep: it runs all trials of an experiment, several at once, each in a process of its own."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import selectors
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from emulator.experiment.file.spec import ExperimentSpec
from emulator.experiment.file.variants import Trial, trials
from emulator.experiment.run.directory import RunDirectory, TrialDirectory
from emulator.experiment.run.versions import cores, now
from emulator.runtime.progress import Progress
from emulator.trials.child import PROGRAM, Start, start_program
from emulator.trials.nursery import Nursery
from emulator.trials.trial import FINISHED
from emulator.trials.worker import Worker

GRACE = 15.0
"""The seconds that an interrupted trial has to end its own processes before it is killed."""
_TURN = 0.1
_start_program = functools.partial(start_program, PROGRAM)


@dataclass(frozen=True, slots=True)
class Update:
    """News of a trial. `state` is as in `status.json`; `progress` is there only while the trial runs."""

    trial: str
    state: str
    progress: Progress | None = None
    reasons: tuple[str, ...] = ()
    kept: bool = False
    """Whether the trial was finished before this sweep began."""


class RunBusy(Exception):
    """Another process is running or analysing trials of this run directory."""


def default_jobs(spec: ExperimentSpec) -> int:
    """Return how many trials run at once: one a core on the virtual clock, one in real time."""
    return cores() if all(trial.spec.runtime.kind == "virtual" for trial in trials(spec)) else 1


def run_sweep(
    run: RunDirectory,
    spec: ExperimentSpec,
    jobs: int,
    watch: Callable[[Update], None],
    command: str = "",
    start: Start | None = None,
) -> list[Update]:
    """Run the trials that are not finished, `jobs` at once. Returns the last news of each trial, in order.

    A trial that crashes is `failed` and the others go on. On an interrupt all children are ended before it is
    raised again, and the run can be resumed. Raises RunBusy, and OSError if the run directory cannot be
    written.
    """
    return conduct(run, spec, watch, lambda pending: run_here(run, pending, jobs, watch, command, start))


def conduct(
    run: RunDirectory,
    spec: ExperimentSpec,
    watch: Callable[[Update], None],
    run_trials: Callable[[deque[Trial]], Iterator[Update]],
) -> list[Update]:
    """Let `run_trials` run the trials that are not finished. Returns the last news of each trial, in order.

    `run_trials` yields how each trial ended. Raises RunBusy, and what `run_trials` raises.
    """
    every = trials(spec)
    outcomes: dict[str, Update] = {}
    with alone(run):
        pending: deque[Trial] = deque()
        for trial in every:
            status = run.trial(trial.name).read_status()
            if status.get("state") in FINISHED:
                outcomes[trial.name] = outcome_of(run.trial(trial.name), kept=True)
                watch(outcomes[trial.name])
            else:
                pending.append(trial)
        for update in run_trials(pending):
            outcomes[update.trial] = update
            watch(update)
    return [outcomes[trial.name] for trial in every]


def run_here(
    run: RunDirectory,
    pending: deque[Trial],
    jobs: int,
    watch: Callable[[Update], None],
    command: str,
    start: Start | None = None,
) -> Iterator[Update]:
    """Run trials in processes of this machine, `jobs` at once, and yield how each ended.

    `start` starts the process of each; without it trials on the virtual clock are forked, and others are
    programs.
    """
    workers: dict[int, Worker] = {}
    with Nursery() as nursery, selectors.DefaultSelector() as selector:
        try:
            while pending or workers:
                while pending and len(workers) < jobs:
                    trial = pending.popleft()
                    directory, fields = run.trial(trial.name), about(trial, command)
                    prepare(directory, fields)
                    is_virtual = trial.spec.runtime.kind == "virtual"
                    way = start or (nursery.start if is_virtual else _start_program)
                    worker = Worker(trial, directory, fields, way)
                    workers[worker.pipe] = worker
                    selector.register(worker.pipe, selectors.EVENT_READ)
                    watch(Update(trial.name, "running"))
                for key, _ in selector.select(_TURN):
                    if (progress := workers[key.fd].progress()) is not None:
                        watch(Update(workers[key.fd].trial.name, "running", progress))
                for worker in [worker for worker in workers.values() if worker.exited]:
                    del workers[worker.pipe]
                    selector.unregister(worker.pipe)
                    yield _finish(worker)
        finally:
            _end(list(workers.values()))


def prepare(directory: TrialDirectory, fields: dict[str, Any]) -> None:
    """Make the directory of a trial that is about to be planned or run."""
    directory.path.mkdir(parents=True, exist_ok=True)
    directory.write_status(state="planned", reasons=[], **fields)


def about(trial: Trial, command: str) -> dict[str, Any]:
    """Return what `status.json` says of a trial from the beginning."""
    variant = trial.variant
    return {
        "trial": trial.name,
        "variant": variant.name,
        "values": variant.values,
        "seed": trial.spec.seed,
        "command": command,
    }


def _finish(worker: Worker) -> Update:
    """Close a worker that has ended, and return what became of its trial."""
    status = worker.close()
    outcome = outcome_of(worker.directory)
    if outcome.state in (*FINISHED, "failed"):
        return outcome
    how = f"ended by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
    hint = " (out of memory?)" if status == -signal.SIGKILL else ""
    reason = f"the trial's process came to an end before the trial: {how}{hint}"
    if words := worker.last_words():
        reason += f"; it last said: {words}"
    reason = worker.reason or reason
    with contextlib.suppress(OSError):  # the disk may be full
        worker.directory.write_status(state="failed", ended=now(), reasons=[reason])
    return Update(worker.trial.name, "failed", reasons=(reason,))


def outcome_of(directory: TrialDirectory, kept: bool = False) -> Update:
    """Return what became of a trial, as its status tells."""
    status = directory.read_status()
    reasons = tuple(status.get("reasons") or ())
    return Update(directory.name, status.get("state", "planned"), reasons=reasons, kept=kept)


def _end(workers: list[Worker]) -> None:
    """Ask all workers to end, wait at most `GRACE` seconds, and kill the rest.

    A second interrupt kills at once.
    """
    try:
        for worker in workers:
            worker.interrupt()
        deadline = time.monotonic() + GRACE
        for worker in workers:
            worker.wait(deadline)
    finally:
        for worker in workers:
            worker.close()
            interrupted(worker.directory)


def interrupted(directory: TrialDirectory) -> None:
    """Note that a trial did not come to its end, so that it is run again."""
    if outcome_of(directory).state == "running":
        with contextlib.suppress(OSError):
            directory.write_status(state="planned", ended=now(), reasons=["interrupted"])


@contextlib.contextmanager
def alone(run: RunDirectory) -> Iterator[None]:
    """Keep other processes from running or analysing these trials meanwhile. Raises RunBusy if one does."""
    descriptor = os.open(run.path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise RunBusy(
            f"another trellis is running or analyzing trials in {run.path}. Wait for it to end"
        ) from None
    finally:
        os.close(descriptor)


def is_busy(run: RunDirectory) -> bool:
    """Return whether another process is running or analyzing these trials now. Raises OSError."""
    descriptor = os.open(run.path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
