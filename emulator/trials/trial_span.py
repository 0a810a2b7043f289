"""The root span of a trial, and the phases of a virtual one by the wall clock."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from emulator.experiment.file.spec import RealTime, TrialSpec
from emulator.experiment.run.directory import TrialDirectory
from emulator.experiment.run.fidelity import Fidelity
from emulator.runtime.progress import Progress, Report
from emulator.tracing import log_lines, spans
from emulator.tracing.tracer import Span

TRACE = "trace"
"""The key of `status.json` for the traceparent of the trial's span, which the analysis puts its own below."""


class _Told:
    def __init__(self, span: Span) -> None:
        self._span = span

    @property
    def fields(self) -> dict[str, Any]:
        """The fields that the trial's status gets; none if nothing is traced."""
        return {TRACE: self._span.traceparent} if self._span.traceparent else {}

    def verdict(self, fidelity: Fidelity) -> None:
        self._span.set({"trellis.valid": fidelity.valid, "trellis.reasons": fidelity.reasons})
        if not fidelity.valid:
            self._span.fail("; ".join(fidelity.reasons))


@contextlib.contextmanager
def trial_span(spec: TrialSpec, directory: TrialDirectory) -> Iterator[_Told]:
    """Make the root span of a trial.

    Where hosts go on with a trial that an earlier coordinator began, its span has the identity and the begin
    that the earlier one gave it, so that the trial stays one trace. Raises DamagedFile.
    """
    before = directory.read_status() if directory.journal.exists() else {}
    about: dict[str, str | int] = {
        "trellis.trial": directory.name,
        "trellis.experiment": directory.path.parent.parent.name,
        "trellis.system": spec.system.name,
        "trellis.peers": spec.peers,
        "trellis.runtime": spec.runtime.kind,
    }
    if isinstance(spec.runtime, RealTime):
        about["trellis.hosts"] = spec.runtime.hosts
    with spans.root("trial", about, str(before.get(TRACE, "")), _unix_ns(before.get("started"))) as span:
        log_lines.of_trial(directory.name, span.traceparent)
        try:
            yield _Told(span)
        except KeyboardInterrupt:
            if directory.journal.exists():  # another coordinator takes the trial up
                span.leave()
            raise
        finally:
            log_lines.of_trial("", "")


class VirtualPhases:
    """Passes progress on, and tells how long each phase of a virtual trial took by the wall clock.

    The times are those of the reports of progress. Trials in real time tell their phases exactly, see
    `emulator.fleet.coordinator.trial_spans`.
    """

    def __init__(self, spec: TrialSpec, report: Report) -> None:
        self._watched = spec.runtime.kind == "virtual"
        self._report = report
        self._phase = ""
        self._since = time.time_ns()

    def __call__(self, progress: Progress) -> None:
        if self._watched and progress.phase != self._phase:
            self._tell()
            self._phase = progress.phase
        self._report(progress)

    def __enter__(self) -> VirtualPhases:
        return self

    def __exit__(self, *error: object) -> None:
        self._tell()

    def _tell(self) -> None:
        now = time.time_ns()
        if self._phase:
            spans.record(f"phase {self._phase}", self._since, now)
        self._since = now


def _unix_ns(started: Any) -> int:
    """Return the time of a status in unix ns, 0 if there is none."""
    try:
        return round(datetime.fromisoformat(started).timestamp() * 1e9)
    except (TypeError, ValueError):
        return 0
