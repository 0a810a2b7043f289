"""Endings of a release's programs when the system refuses them something: a sentence and an exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps

from emulator.files.disk import full_disk, told

FAILED, REFUSED, INTERRUPTED = 1, 2, 130


def in_words(main: Callable[[], int]) -> Callable[[], int]:
    """Wrap a main program so that it tells in a sentence which file or address it could not use.

    Its exit status is then 2, or 1 if a disk is full or memory is out, as with the command `trellis`. An
    unforeseen error keeps its traceback, which the log of the pod shows when the pod's files are gone.
    """

    @wraps(main)
    def program() -> int:
        try:
            return main()
        except KeyboardInterrupt:
            return INTERRUPTED
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes it at the end
            return FAILED
        except OSError as error:
            _say(told(error))
            return FAILED if full_disk(error) else REFUSED
        except MemoryError:
            _say("out of memory")
            return FAILED

    return program


def _say(text: str) -> None:
    """Print to standard error, if it is open."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        return
