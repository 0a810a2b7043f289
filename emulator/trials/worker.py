"""A child process that runs one trial, together with all processes that it starts."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from emulator.experiment.file.variants import Trial
from emulator.experiment.run.directory import TrialDirectory
from emulator.files.child_programs import surroundings
from emulator.runtime.progress import Progress
from emulator.trials.trial import REASON, Job

PROGRAM = (sys.executable, "-m", "emulator.trials.trial")
_MAX_LINE = 65_536


VIRTUAL_MEMORY = {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
"""The variables that make the C library ask for huge pages: a large virtual trial mostly waits for memory."""


class Worker:
    """A child process in a session of its own, so that a Ctrl-C reaches only the parent.

    It starts when made.
    """

    def __init__(
        self, trial: Trial, directory: TrialDirectory, about: dict[str, Any], program: Sequence[str] = PROGRAM
    ) -> None:
        self.trial = trial
        self.directory = directory
        directory.path.mkdir(parents=True, exist_ok=True)
        self.pipe, theirs = os.pipe()
        self._left = b""
        self.reason = ""
        """Why the trial failed, if the child said so, or ""."""
        try:
            with self.log.open("wb") as log:
                self._process = subprocess.Popen(
                    program,
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    pass_fds=(theirs,),
                    start_new_session=True,
                    env=surroundings() | (VIRTUAL_MEMORY if trial.spec.runtime.kind == "virtual" else {}),
                )
        except BaseException:
            os.close(self.pipe)
            raise
        finally:
            os.close(theirs)
        os.set_blocking(self.pipe, False)
        job = Job(directory.path, trial.spec, about, theirs)
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(job.to_json().encode() + b"\n")
            self._process.stdin.flush()

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
        """Whether the process has ended.

        It is not reaped before `close`, so that its group keeps its number.
        """
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, options) is not None

    def interrupt(self) -> None:
        """Ask the process to end.

        `Popen.send_signal` would reap one that has ended, and give its number away.
        """
        if not self.exited:
            os.kill(self._process.pid, signal.SIGINT)

    def wait(self, deadline: float) -> None:
        """Wait until the process has ended, or until `deadline` on the monotonic clock."""
        while not self.exited and time.monotonic() < deadline:
            time.sleep(0.02)

    def close(self) -> int:
        """Kill the process and whatever it left running. Returns the exit status, negative for a signal."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        status = self._process.wait()
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()
        self.progress()
        os.close(self.pipe)
        return status

    def last_words(self) -> str:
        """Return the last line that the process printed, if any."""
        lines = self.log.read_text(errors="replace").split("\n") if self.log.exists() else []
        return next((line.strip() for line in reversed(lines) if line.strip()), "")
