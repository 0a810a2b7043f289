"""The place of an analysis in the traces of the trials that it analyses."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from emulator.experiment.run.directory import RunDirectory
from emulator.files.damage import DamagedFile
from emulator.tracing.spans import span
from emulator.tracing.tracer import Attributes
from emulator.trials.trial_span import TRACE


@contextlib.contextmanager
def analysis_span(run: RunDirectory, name: str) -> Iterator[None]:
    """Make a span of what is done with a run's trials meanwhile.

    With one trial it is in the trial's trace. With several it begins a trace of its own, with links to the
    spans of all trials that were traced.
    """
    traces = _traces(run)
    parent = traces[0] if len(traces) == 1 else ""
    about: Attributes = {"trellis.run": run.path.name, "trellis.trials": len(traces)}
    with span(name, about, parent, () if parent else traces):
        yield


def _traces(run: RunDirectory) -> list[str]:
    """Return the traceparent of each trial, "" for one that was not traced."""
    try:
        return [str(trial.read_status().get(TRACE, "")) for trial in run.trials()]
    except (DamagedFile, OSError):  # the analysis itself says what is damaged
        return []
