"""Programs that start in a tenth of a second, for tests that start dozens of them.

Python imports the command's modules for a second. One process of each pytest imports them once and then forks
itself for each program; it has read no entry points, so that each program finds the packages of its own
PYTHONPATH, as if it had been started by itself. `test_cli_commands` starts the command itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from multiprocessing import get_context
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired
from tempfile import TemporaryDirectory

_IMPORTED = (
    "trellis.command.cli",
    *("numpy.typing", "pyarrow.compute", "pyarrow.parquet", "pydantic.dataclasses", "pydantic.type_adapter"),
    *("rich.console", "rich.table", "yaml", "zstandard", "emulator.churn.model", "emulator.faults.groups"),
    "emulator.network.model",
)
"""The modules that are imported before the first program starts: those that read no entry points."""
COMMAND = "from trellis.command.cli import main; main()"


def run_program(
    program: str, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], limit: float
) -> CompletedProcess[str]:
    """Run the text of a program as `python -c` does, in this folder, with these variables alone.

    Raises TimeoutExpired if it takes more than `limit` seconds.
    """
    context = get_context("forkserver")
    context.set_forkserver_preload(list(_IMPORTED))
    with TemporaryDirectory() as told:
        files = [str(Path(told) / name) for name in ("output", "errors")]
        given = (program, ["-c", *arguments], str(folder), dict(environment), files)
        process = context.Process(target=_be, args=given)
        process.start()
        process.join(limit)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise TimeoutExpired(program, limit)
        output, errors = (Path(file).read_text() for file in files)
        return CompletedProcess([program, *arguments], process.exitcode, output, errors)


def _be(
    program: str, arguments: list[str], folder: str, environment: dict[str, str], files: list[str]
) -> None:
    """Become this program in a process that has just been forked."""
    for stream, file in zip((1, 2), files, strict=True):
        opened = os.open(file, os.O_WRONLY | os.O_CREAT)
        os.dup2(opened, stream)
        os.close(opened)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = arguments
    installed = [path for path in sys.path if path.startswith((sys.prefix, sys.base_prefix))]
    sys.path[:] = ["", *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep)), *installed]
    exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})
