"""The ids and times that a trial's traces have in a backend such as Jaeger or Tempo."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from typing import Final

from emulator.experiment.run.directory import TrialDirectory
from emulator.files.damage import DamagedFile

OWN_IDS: Final = "own_trace_ids"
"""The field of a trial's status that says that no other trial has its trace ids."""
_MASKED = 8
"""The number of bytes at the beginning of an id that are changed."""
_YEARS: Final = range(2000, 2200)
"""The years in which a trial can have ended. Spans have no times before 1970 and after 2554."""


def seed_of_ids(seed: int, start_unix_ns: int) -> int:
    """Return the seed of the trace ids of a trial in real time, which no other trial has.

    A Collector may forward such a trial's spans while it runs. Its ids are therefore its own from the
    beginning, and stay as they are when it is sent later. The telemetry of the virtual clock depends on the
    trial's seed alone.
    """
    return int.from_bytes(hashlib.sha256(f"{seed}/{start_unix_ns}".encode()).digest()[:8], "big")


class BackendTraces:
    """The traces of one trial in a backend.

    Trials with one seed on the virtual clock have the same trace ids, so each trial's are changed by a number
    of its own. It stays the same, so that a report can name a trace before or after it is sent. The ids of a
    trial in real time are its own already and are not changed.
    """

    def __init__(self, trial: TrialDirectory) -> None:
        """Raises DamagedFile if the status cannot be read."""
        about = f"{trial.path.resolve().parent.parent.name}/{trial.name}"
        own = trial.read_status().get(OWN_IDS) is True
        self._mask = 0 if own else int.from_bytes(hashlib.sha256(about.encode()).digest()[:_MASKED], "big")

    def id(self, trace: bytes) -> bytes:
        """Return the id (16 bytes) that a trace with this id in the telemetry has in a backend."""
        head = int.from_bytes(trace[:_MASKED], "big") ^ self._mask
        return head.to_bytes(_MASKED, "big") + trace[_MASKED:]

    def is_among(self, trace: bytes, share: float) -> bool:
        """Return whether this trace of the telemetry is in a share (0 to 1) of them, by a hash of its id."""
        drawn = int.from_bytes(hashlib.sha256(self.id(trace)).digest()[:_MASKED], "big")
        return drawn < int(share * 2 ** (8 * _MASKED))


def ended_ns(trial: TrialDirectory) -> int | None:
    """Return when a trial ended on the wall clock (ns since 1970), or None if it has not ended.

    Raises DamagedFile if what the status has there is no time of a trial.
    """
    ended = trial.read_status().get("ended")
    if ended is None:
        return None
    try:
        moment = datetime.fromisoformat(ended)
        if moment.year in _YEARS:
            return int(moment.timestamp()) * 10**9
    except (TypeError, ValueError):
        pass
    raise DamagedFile(
        f'{trial.status} is damaged: "ended" is {json.dumps(ended):.80}, but has to be when the trial ended, '
        'such as "2026-11-29T03:45:47+00:00". Write null there if that is not known: its traces are then '
        "moved to now"
    )
