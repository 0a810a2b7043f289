"""How the command ends: exit statuses, and messages in place of tracebacks."""

from __future__ import annotations

import errno
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer
from rich.console import Console

if TYPE_CHECKING:
    from emulator.experiment.rundir import RunDirectory

VALID, INVALID, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
_DISK = (errno.ENOSPC, errno.EDQUOT)

err = Console(stderr=True, highlight=False)


class UserError(Exception):
    """Something that the user has to change; its text says what."""


@contextmanager
def resumable(directory: RunDirectory) -> Iterator[None]:
    """An interrupt says how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        again = f"trellis run {shlex.quote(str(directory.path))}"
        err.print(f"interrupted; finished trials are kept. Go on with: {again}", markup=False, soft_wrap=True)
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def endings() -> Iterator[None]:
    """Errors of the user and of the machine become a message and an exit status, without a traceback."""
    from emulator.experiment.document import ExperimentError
    from emulator.experiment.origin import OtherPlan
    from emulator.experiment.runs import NoRun
    from emulator.experiment.sweep import RunBusy
    from emulator.packages import BadPackage

    status = BAD_INPUT
    try:
        yield
        return
    except ExperimentError as error:
        count = len(error.problems)
        message = f"{error}\n{count} problem{'s' if count > 1 else ''}; nothing was started"
    except (UserError, NoRun, OtherPlan, RunBusy, BadPackage) as error:
        message = str(error)
    except KeyboardInterrupt:
        message, status = "interrupted", INTERRUPTED
    except PermissionError as error:
        message = f"{error.filename}: {error.strerror}"
    except OSError as error:
        if error.errno not in _DISK:
            raise
        message, status = f"the disk is full: {error.filename or 'a file'} could not be written", INVALID
    err.print(message, style="red", markup=False, soft_wrap=True)
    raise typer.Exit(status)
