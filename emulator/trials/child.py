"""The process of a trial as its parent sees it, and how a program becomes one."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from emulator.files.child_programs import surroundings

PROGRAM = (sys.executable, "-m", "emulator.trials.trial")


class Child(Protocol):
    """A process in a session of its own, so that a Ctrl-C reaches only the parent."""

    @property
    def pid(self) -> int: ...

    @property
    def exited(self) -> bool:
        """This is true once the process has ended, which keeps its number and its group until `reap`."""

    def reap(self) -> int:
        """Wait for the process, which has ended or was killed, and return its exit status, negative for a
        signal."""


@dataclass(frozen=True, slots=True)
class Descriptors:
    """The files that a child gets: where its job comes from, its log, and the pipe for its progress."""

    job: int
    log: int
    progress: int


Start = Callable[[Descriptors], tuple[Child, int]]
"""A function that starts a child. Also returns the number that the pipe for progress has in the child."""


class _Program:
    """A child that was started as a program."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exited(self) -> bool:
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT  # `poll` would reap it, and give its number away
        return os.waitid(os.P_PID, self._process.pid, options) is not None

    def reap(self) -> int:
        return self._process.wait()


def start_program(program: Sequence[str], files: Descriptors) -> tuple[Child, int]:
    """Start a program as a child, see `Start`."""
    process = subprocess.Popen(
        program,
        stdin=files.job,
        stdout=files.log,
        stderr=files.log,
        pass_fds=(files.progress,),
        start_new_session=True,
        env=surroundings(),
    )
    return _Program(process), files.progress


def interrupt(child: Child) -> None:
    """Ask the child to end."""
    if not child.exited:
        os.kill(child.pid, signal.SIGINT)


def end(child: Child) -> int:
    """Kill the child and whatever it left running. Returns its exit status, negative for a signal."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:  # a fork that has no session of its own yet, or one that is gone
        with contextlib.suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGKILL)
    return child.reap()
