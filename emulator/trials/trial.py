"""One trial, from its spec to its verdict.

As a program it is the child process of a sweep: the first line of its standard input is a `Job`,
whose end of file means that the parent has gone; progress goes to a pipe.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from emulator.contract.mistakes import in_words
from emulator.experiment.file.spec import RealTime, TrialSpec
from emulator.experiment.run.directory import TrialDirectory
from emulator.experiment.run.fidelity import Fidelity
from emulator.experiment.run.seals import seal
from emulator.experiment.run.versions import machine, now, versions
from emulator.files.disk import full_disk
from emulator.runtime.progress import Progress, Report
from emulator.telemetry.backend_traces import OWN_IDS
from emulator.tracing import spans
from emulator.trials.trial_span import VirtualPhases, trial_span

FINISHED = ("valid", "invalid")
PIPE_INTERVAL = 0.2
"""The wall seconds between two snapshots that a child sends; snapshots in between are left out."""
REASON = "failed_because"
"""The key in the pipe under which a child says why it failed."""
STATUS_INTERVAL = 5.0
_LAST_WORDS = 10.0


@dataclass(frozen=True, slots=True)
class Job:
    """The job of a child process."""

    directory: Path
    spec: TrialSpec
    about: dict[str, Any]
    """The fields for `status.json`: trial, variant, values, seed, command."""
    progress_pipe: int

    def to_json(self) -> str:
        fields = {"directory": str(self.directory), "spec": self.spec.model_dump(mode="json")}
        return json.dumps(fields | {"about": self.about, "progress_pipe": self.progress_pipe})

    @classmethod
    def from_json(cls, text: str) -> Job:
        fields = json.loads(text)
        spec = TrialSpec.model_validate_json(json.dumps(fields["spec"]))
        return cls(Path(fields["directory"]), spec, fields["about"], fields["progress_pipe"])


Runtime = Callable[[TrialSpec, Any, TrialDirectory, Report], Fidelity]
"""A function that runs a trial by its plan."""


def run_trial(
    spec: TrialSpec,
    directory: TrialDirectory,
    report: Report,
    about: dict[str, Any] | None = None,
    runtime: Runtime | None = None,
) -> Fidelity:
    """Plan (unless the directory has a plan), run, and write fidelity and status.

    What an earlier attempt recorded is removed first, unless hosts go on with the trial (then it has a
    journal). An error makes the trial `failed` and is raised again; an interrupt makes it `planned`, so that
    it is run when the run is resumed. Without `runtime` the trial runs in the one of the spec.
    """
    with trial_span(spec, directory) as told:
        fidelity = _run_trial(spec, directory, report, (about or {}) | told.fields, runtime)
        told.verdict(fidelity)
        return fidelity


def _run_trial(
    spec: TrialSpec,
    directory: TrialDirectory,
    report: Report,
    about: dict[str, Any],
    runtime: Runtime | None,
) -> Fidelity:
    directory.path.mkdir(parents=True, exist_ok=True)
    if not directory.journal.exists():
        shutil.rmtree(directory.telemetry, ignore_errors=True)
    directory.fidelity.unlink(missing_ok=True)
    own_ids = isinstance(spec.runtime, RealTime)
    facts = {"versions": versions(), "machine": machine(), OWN_IDS: own_ids} | about
    directory.write_status(
        state="running", started=now(), ended=None, reasons=[], progress=None, digests=None, **facts
    )
    watch = _Watch(directory, report)
    try:
        watch(Progress("plan", 0.0, spec.phases.end, 0, 0, 0, 0))
        with spans.span("plan"):
            plan_trial(spec, directory)
            plan = _read_plan(spec, directory)
        with VirtualPhases(spec, watch) as seen:
            fidelity = (runtime or _runtime(spec))(_laid_out(spec, plan), plan, directory, seen)
    except KeyboardInterrupt:
        with contextlib.suppress(OSError):  # the disk may be full
            directory.write_status(state="planned", ended=now(), reasons=["interrupted"])
        raise
    except (Exception, SystemExit) as error:
        with contextlib.suppress(OSError):
            directory.write_status(
                state="failed", ended=now(), reasons=[describe(error)], progress=watch.last
            )
        if isinstance(error, SystemExit):
            # Code of a package that exits would end this process as if all was well.
            raise RuntimeError(describe(error)) from error
        raise
    state = "valid" if fidelity.valid else "invalid"
    with spans.span("seal"):
        digests = seal(directory)
    directory.write_status(
        state=state, ended=now(), reasons=fidelity.reasons, progress=watch.last, digests=digests
    )
    return fidelity


def plan_trial(spec: TrialSpec, directory: TrialDirectory) -> None:
    """Draw and write the plan, if there is none.

    Raises ValueError if it cannot be drawn, OtherPlan if the directory has one of another spec.
    """
    from emulator.experiment.plan.draw_plan import draw_plan
    from emulator.experiment.plan.provenance import check_spec, check_tables, write_plan
    from emulator.experiment.plan.tables import check_plan

    if directory.plan.exists():
        check_spec(spec, directory.plan)
        check_plan(directory.plan, spec.workload.kind)
        check_tables(directory.plan, spec.workload.kind)
        return
    draft = directory.path / "plan.new"
    shutil.rmtree(draft, ignore_errors=True)
    write_plan(draw_plan(spec), spec, draft)
    draft.replace(directory.plan)


def describe(error: BaseException) -> str:
    """Return an error as a reason that a user can act on."""
    if full := full_disk(error):
        return full
    if isinstance(error, MemoryError):
        return "out of memory. Run fewer trials at once (--jobs) or fewer peers"
    return in_words(error)


class _Watch:
    """Passes progress on and keeps it in `status.json`, each at a bounded rate."""

    def __init__(self, directory: TrialDirectory, report: Report) -> None:
        self.last: dict[str, Any] | None = None
        self._directory = directory
        self._report = report
        self._kept = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        self.last = asdict(progress)
        self._report(progress)
        if time.monotonic() - self._kept >= STATUS_INTERVAL:
            self._kept = time.monotonic()
            self._directory.write_status(progress=self.last)


def _read_plan(spec: TrialSpec, directory: TrialDirectory) -> Any:
    from emulator.experiment.plan.tables import Plan

    return Plan.read(directory.plan, spec.workload.kind)


def _laid_out(spec: TrialSpec, plan: Any) -> TrialSpec:
    from emulator.layouts.layout import lay_out

    return lay_out(spec, plan)


def _runtime(spec: TrialSpec) -> Runtime:
    if spec.runtime.kind == "virtual":
        from emulator.runtime.virtual.run_virtual import run_virtual

        return run_virtual
    if spec.runtime.kind == "kubernetes":
        raise ValueError("its hosts are pods: run it with --on kubernetes")
    from emulator.fleet.processes import run_processes

    return run_processes


class _Pipe:
    """Sends snapshots to the parent without ever waiting for it."""

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._phase = ""
        self._sent = 0.0

    def __call__(self, progress: Progress) -> None:
        if progress.phase == self._phase and time.monotonic() - self._sent < PIPE_INTERVAL:
            return
        self._phase, self._sent = progress.phase, time.monotonic()
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            os.write(self._descriptor, json.dumps(asdict(progress)).encode() + b"\n")

    def tell(self, reason: str) -> None:
        """Tell why the trial failed, in case its status could not be written."""
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            os.write(self._descriptor, json.dumps({REASON: reason}).encode() + b"\n")


def _end_with_parent() -> None:
    while os.read(sys.stdin.fileno(), 1):  # unbuffered: a lock on the buffer would break the exit
        pass
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(_LAST_WORDS)
    os._exit(130)


def main() -> int:
    """Run the job on standard input. Exit status: 0 valid, 1 invalid or failed, 130 interrupted."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    pipe = None
    try:
        line = sys.stdin.buffer.readline()
        if not line:
            return 130
        job = Job.from_json(line.decode())
        threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
        pipe = _Pipe(job.progress_pipe)
        spans.begin("trial" if job.spec.runtime.kind == "virtual" else "coordinator")
        return 0 if run_trial(job.spec, TrialDirectory(job.directory), pipe, job.about).valid else 1
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if pipe is not None:
            pipe.tell(describe(error))
        with contextlib.suppress(OSError):
            traceback.print_exc()
        return 1
    finally:
        spans.end()
        gc.freeze()  # The process ends, so the collector need not look through all that the trial has left.


if __name__ == "__main__":
    sys.exit(main())
