"""Whether a process was stopped by a signal, as `kill -STOP` does it: then no machine was too slow."""

from __future__ import annotations

import signal
from pathlib import Path
from types import FrameType

WORD = "was stopped by a signal"
_continued = 0


def watch() -> None:
    """Count from now on how often this process goes on after it was stopped."""
    signal.signal(signal.SIGCONT, _note)


def continued() -> int:
    """How often it went on."""
    return _continued


def is_stopped(process: int) -> bool:
    """Whether the process of this number is stopped now. On systems other than Linux nobody is."""
    try:
        state = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state in (b"T", b"t")


def _note(number: int, frame: FrameType | None) -> None:
    global _continued
    _continued += 1
