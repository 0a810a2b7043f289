"""A child process that runs one trial, together with all processes that it starts."""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from typing import Any

from emulator.experiment.file.variants import Trial
from emulator.experiment.run.directory import TrialDirectory
from emulator.runtime.progress import Progress
from emulator.tracing.log_lines import words_of
from emulator.trials.child import Descriptors, Start, end, interrupt
from emulator.trials.trial import REASON, Job

_MAX_LINE = 65_536


class Worker:
    """The process of one trial, with its job, its log and its news. It starts when made."""

    def __init__(self, trial: Trial, directory: TrialDirectory, about: dict[str, Any], start: Start) -> None:
        """Raises OSError if the process cannot be started."""
        self.trial = trial
        self.directory = directory
        directory.path.mkdir(parents=True, exist_ok=True)
        self._left = b""
        self.reason = ""
        """Why the trial failed, if the child said so, or ""."""
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            self.pipe, progress = _pipe(ours, theirs)
            job, self._job = _pipe(theirs, ours)
            log = theirs.enter_context(self.log.open("wb"))
            self._child, pipe = start(Descriptors(job, log.fileno(), progress))
            ours.pop_all()
        os.set_blocking(self.pipe, False)
        with contextlib.suppress(BrokenPipeError), open(self._job, "wb", closefd=False) as write:
            write.write(Job(directory.path, trial.spec, about, pipe).to_json().encode() + b"\n")

    @property
    def log(self) -> Path:
        """The file that has what the trial's processes print."""
        return self.directory.path / "log.txt"

    def progress(self) -> Progress | None:
        """Return the newest snapshot that has arrived since the last call."""
        try:
            data = self._left + os.read(self.pipe, _MAX_LINE)
        except BlockingIOError:
            return None
        lines = data.split(b"\n")
        self._left = lines[-1][:_MAX_LINE]
        told = [json.loads(line) for line in lines[:-1]]
        self.reason = next((fields[REASON] for fields in told if REASON in fields), self.reason)
        news = [fields for fields in told if REASON not in fields]
        return Progress(**news[-1]) if news else None

    @property
    def exited(self) -> bool:
        """This is true once the process has ended."""
        return self._child.exited

    def interrupt(self) -> None:
        """Ask the process to end."""
        interrupt(self._child)

    def wait(self, deadline: float) -> None:
        """Wait until the process has ended, or until `deadline` on the monotonic clock."""
        while not self.exited and time.monotonic() < deadline:
            time.sleep(0.02)

    def close(self) -> int:
        """Kill the process and whatever it left running. Returns the exit status, negative for a signal."""
        status = end(self._child)
        os.close(self._job)
        self.progress()
        os.close(self.pipe)
        return status

    def last_words(self) -> str:
        """Return the last line that the process printed, if any."""
        lines = self.log.read_text(errors="replace").split("\n") if self.log.exists() else []
        return next((words_of(line.strip()) for line in reversed(lines) if line.strip()), "")


def _pipe(reads: contextlib.ExitStack, writes: contextlib.ExitStack) -> tuple[int, int]:
    """Return the ends of a new pipe, each of which its stack closes."""
    read, write = os.pipe()
    reads.callback(os.close, read)
    writes.callback(os.close, write)
    return read, write
