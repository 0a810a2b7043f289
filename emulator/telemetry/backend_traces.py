"""The ids and times that a trial's traces have in a backend such as Jaeger or Tempo."""

from __future__ import annotations

import hashlib
from datetime import datetime

from emulator.experiment.run.directory import TrialDirectory

_MASKED = 8
"""The number of bytes at the beginning of an id that are changed."""


class BackendTraces:
    """The traces of one trial in a backend.

    Trials with one seed have the same trace ids, so each trial's are changed by a number of its own. It stays
    the same, so that a report can name a trace before or after it is sent.
    """

    def __init__(self, trial: TrialDirectory) -> None:
        about = f"{trial.path.resolve().parent.parent.name}/{trial.name}"
        self._mask = int.from_bytes(hashlib.sha256(about.encode()).digest()[:_MASKED], "big")

    def id(self, trace: bytes) -> bytes:
        """Return the id (16 bytes) that a trace with this id in the telemetry has in a backend."""
        head = int.from_bytes(trace[:_MASKED], "big") ^ self._mask
        return head.to_bytes(_MASKED, "big") + trace[_MASKED:]


def ended_ns(trial: TrialDirectory) -> int | None:
    """Return when a trial ended on the wall clock (ns since 1970), or None if it has not ended."""
    ended = trial.read_status().get("ended")
    return None if ended is None else int(datetime.fromisoformat(ended).timestamp()) * 10**9
