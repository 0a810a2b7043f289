"""A child process that runs one trial, and all that it started."""

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
from emulator.runtime.progress import Progress
from emulator.trials.trial import REASON, Job

PROGRAM = (sys.executable, "-m", "emulator.trials.trial")
_MAX_LINE = 65_536


VIRTUAL_MEMORY = {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
"""Has the C library ask for huge pages: a large trial on the virtual clock waits for memory most of all."""


class Worker:
    """Starts when it is made, in a session of its own, so that a Ctrl-C reaches only the parent."""

    def __init__(
        self, trial: Trial, directory: TrialDirectory, about: dict[str, Any], program: Sequence[str] = PROGRAM
    ) -> None:
        self.trial = trial
        self.directory = directory
        directory.path.mkdir(parents=True, exist_ok=True)
        self.pipe, theirs = os.pipe()
        self._left = b""
        self.reason = ""
        """Why it failed, if it said so."""
        try:
            with self.log.open("wb") as log:
                self._process = subprocess.Popen(
                    program,
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    pass_fds=(theirs,),
                    start_new_session=True,
                    env=os.environ | VIRTUAL_MEMORY if trial.spec.runtime.kind == "virtual" else None,
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
        """What the trial's processes print."""
        return self.directory.path / "log.txt"

    def progress(self) -> Progress | None:
        """The newest snapshot that has arrived since the last call."""
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
        """Whether the process has ended. It is kept until `close`, so that its group stays its own."""
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, options) is not None

    def interrupt(self) -> None:
        """Ask it to end. `Popen.send_signal` would wait for one that has ended, and give its number away."""
        if not self.exited:
            os.kill(self._process.pid, signal.SIGINT)

    def wait(self, deadline: float) -> None:
        """Until it has ended, or until `deadline` on the monotonic clock."""
        while not self.exited and time.monotonic() < deadline:
            time.sleep(0.02)

    def close(self) -> int:
        """End it and whatever it left running at once. The exit status, negative for a signal."""
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
        """The last line that it printed, if any."""
        lines = self.log.read_text(errors="replace").split("\n") if self.log.exists() else []
        return next((line.strip() for line in reversed(lines) if line.strip()), "")
