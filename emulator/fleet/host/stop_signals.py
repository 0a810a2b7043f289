"""Detection of processes that a signal stopped, as `kill -STOP` does, so that no slow machine is blamed."""

from __future__ import annotations

import signal
from pathlib import Path
from types import FrameType

WORD = "was stopped by a signal"
_continued = 0


def watch() -> None:
    """Count from now on how often this process goes on after a signal stopped it."""
    signal.signal(signal.SIGCONT, _note)


def continued() -> int:
    """Return how often this process went on after a signal had stopped it."""
    return _continued


def is_stopped(process: int) -> bool:
    """Return whether the process of this number is stopped now. On systems other than Linux, no process
    is."""
    try:
        state = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state in (b"T", b"t")


def _note(number: int, frame: FrameType | None) -> None:
    global _continued
    _continued += 1
