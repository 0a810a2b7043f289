"""The program `trellis`. Its imports take a moment, in which it may be interrupted too.

It is not in the package `emulator`, which looks for compiled modules as soon as a part of it is imported.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from types import FrameType

_INTERRUPTED = 130
_EARLY = "interrupted; nothing was started"


def main() -> None:
    """Run the command. Exit status: 0 valid, 1 invalid or failed, 2 bad input, 130 interrupted."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)  # nothing has begun that would have to be ended
    from trellis.command.cli import main as run

    status = 0
    try:
        run()
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
        if isinstance(getattr(ended.__context__, "__cause__", None), KeyboardInterrupt):
            _say(_EARLY)  # typer has ended silently, because no command had begun that says it itself
    except KeyboardInterrupt:
        _say(_EARLY)
        status = _INTERRUPTED
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)  # what is left to do needs no care
    sys.exit(status)


def _leave(number: int, frame: FrameType | None) -> None:
    _say(_EARLY)
    os._exit(_INTERRUPTED)


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        os.write(2, f"{text}\n".encode())
