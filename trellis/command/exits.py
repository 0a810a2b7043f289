"""The ends of the command: exit statuses, and messages in place of tracebacks."""

from __future__ import annotations

import errno
import shlex
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from emulator.files.disk import full_disk, told
from emulator.files.input_facts import counted

if TYPE_CHECKING:
    from emulator.experiment.run.directory import RunDirectory

VALID, INVALID, BAD_INPUT, BROKEN, INTERRUPTED = 0, 1, 2, 3, 130
_DAMAGE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""The errors that code raises when it reads damaged data."""

err = Console(stderr=True, highlight=False)


class UserError(Exception):
    """An error that the user has to mend; its text says how."""


@contextmanager
def resumable(directory: RunDirectory, command: str = "run", options: Sequence[str] = ()) -> Iterator[None]:
    """Print by which command of Trellis, with which options, the run is resumed if it is interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        again = shlex.join(["trellis", command, str(directory.path), *options])
        err.print(f"interrupted; finished trials are kept. Go on with: {again}", markup=False, soft_wrap=True)
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def endings() -> Iterator[None]:
    """Turn errors of the user and of the machine into a message and an exit status, without a traceback."""
    from emulator.contract.mistakes import blamed_package, with_lines
    from emulator.contract.packages import BadPackage
    from emulator.experiment.file.document import ExperimentError
    from emulator.experiment.plan.provenance import OtherPlan
    from emulator.experiment.run.runs import NoRun
    from emulator.files.damage import DamagedFile
    from emulator.trials.sweep import RunBusy

    status = BAD_INPUT
    try:
        yield
        return
    except typer.Exit:
        raise
    except typer.Abort as abort:
        typer.echo(err=True)  # ends the line of the question
        message, status = "there was no answer, and nothing was done", BAD_INPUT
        if isinstance(abort.__context__, KeyboardInterrupt):
            message, status = "interrupted", INTERRUPTED
    except ExperimentError as error:
        count = len(error.problems)
        message = f"{error}\n{counted(count, 'problem')}; nothing was started"
    except (UserError, NoRun, OtherPlan, RunBusy, BadPackage, DamagedFile) as error:
        message = str(error)
    except KeyboardInterrupt:
        message, status = "interrupted", INTERRUPTED
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise typer.Exit(INVALID) from None
        message, status = told(error), INVALID if full_disk(error) else BAD_INPUT
    except MemoryError:
        message, status = "out of memory. Run fewer trials at once (--jobs) or fewer peers", INVALID
    except (Exception, SystemExit) as error:
        of_package = blamed_package(error)
        if isinstance(error, SystemExit) and not of_package:
            raise
        message, status = full_disk(error) or last_resort(error), INVALID
        if of_package:
            message, status = f"the code of a package failed: {with_lines(error)}; {message}", BAD_INPUT
    say_error(message)
    raise typer.Exit(status)


@contextmanager
def readable(*directories: RunDirectory) -> Iterator[None]:
    """Raises UserError where a finished run cannot be used, because it may be damaged in any way."""
    try:
        yield
    except _DAMAGE as error:
        if full := full_disk(error):
            raise UserError(full) from None
        names = " or ".join(shlex.quote(str(directory.path)) for directory in directories)
        what = f"what is in {names} cannot be used: it is damaged, or of another version of Trellis"
        again = "; ".join(f"trellis analyze {shlex.quote(str(directory.path))}" for directory in directories)
        raise UserError(f"{what} ({last_resort(error)}). Make it again: {again}") from None


def last_resort(error: BaseException) -> str:
    """Return a line for an unforeseen error, whose traceback goes to a file that the line names."""
    what = " ".join(f"{type(error).__name__}: {error}".split())
    what = what if len(what) <= 500 else f"{what[:500]}..."
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="trellis-", suffix=".log", delete=False, encoding="utf-8", errors="backslashreplace"
        ) as log:
            log.writelines(traceback.format_exception(error))
    except OSError as failure:
        return f"{what} (where it happened could not be written down: {told(failure)})"
    return f"{what} (where it happened is in {Path(log.name)})"


def say_error(message: str) -> None:
    """Print a message in red, if there is a place to print to."""
    if sys.stderr is not None:
        try:
            err.print(message, style="red", markup=False, soft_wrap=True)
        except OSError:
            return
