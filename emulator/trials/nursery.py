"""A process that has loaded all that a trial on the virtual clock needs, and becomes one by forking.

A small trial takes less time than Python takes to load Trellis: half a second of 1.8 with 50 peers. This
module is the parent's side, `emulator.trials.forking` is the process.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import subprocess
import sys
from types import TracebackType

from emulator.files.child_programs import surroundings
from emulator.trials.child import Child, Descriptors
from emulator.trials.forking import ASK, PROGRESS, STATUS

VARIABLES = {
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    "OPENBLAS_NUM_THREADS": "1",
}
"""The variables that make the C library ask for huge pages, because a large virtual trial mostly waits for
memory (`use_huge_pages` does so for Python's objects). The last one leaves numpy without threads, which a
fork would lose."""
LOADED = "emulator.trials.virtual_trial"
"""The module of a trial on the virtual clock."""
_LIMIT = 120.0
"""The seconds that the process may take to load Trellis and to fork; a busy machine takes long."""
_END_LIMIT = 10.0


class NoNursery(OSError):
    """The process that forks trials did not answer."""


class _Forked:
    """A child that the nursery forked.

    The nursery tells how it has ended, and reaps it when `told` is closed.
    """

    def __init__(self, told: int, pid: int) -> None:
        self._told = told
        self.pid = pid
        self._status: int | None = None

    @property
    def exited(self) -> bool:
        return self._status is not None or self._hear(0.0)

    def reap(self) -> int:
        self._hear(_END_LIMIT)
        os.close(self._told)
        return -signal.SIGKILL if self._status is None else self._status

    def _hear(self, limit: float) -> bool:
        if self._status is None and _readable(self._told, limit):
            said = os.read(self._told, STATUS.size)
            # A nursery that has ended leaves its children, whose status nobody will know.
            self._status = STATUS.unpack(said)[0] if said else -signal.SIGKILL
        return self._status is not None


class Nursery:
    """Starts trials by forks of one process, which it starts with the first one."""

    def __init__(self, module: str = LOADED) -> None:
        """`module` has a function `main`, which runs the job on standard input and returns an exit status."""
        self._module = module
        self._process: subprocess.Popen[bytes] | None = None
        self._ask: socket.socket | None = None

    def start(self, files: Descriptors) -> tuple[Child, int]:
        """Start a trial's process, see `child.Start`. Raises NoNursery."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._open(files.log)
        assert self._ask is not None
        told, theirs = os.pipe()
        try:
            with os.fdopen(theirs, "wb", buffering=0):
                socket.send_fds(self._ask, [ASK], [files.job, files.log, files.progress, theirs])
            said = os.read(told, STATUS.size) if _readable(told, _LIMIT) else b""
            if not said:
                raise NoNursery(
                    "the process that forks trials started none. The log of the first one has its words"
                )
            return _Forked(told, STATUS.unpack(said)[0]), PROGRESS
        except BaseException as error:
            os.close(told)
            if isinstance(error, ConnectionError):
                raise NoNursery("the process that forks trials has ended") from error
            raise

    def _open(self, log: int) -> None:
        self._ask, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                (sys.executable, "-m", "emulator.trials.forking", self._module),
                stdin=theirs.fileno(),
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=surroundings() | VARIABLES,
            )

    def close(self) -> None:
        """End the process. Children that still run end by themselves, as their parent does."""
        if self._ask is not None:
            self._ask.close()
            self._ask = None
        if self._process is not None:
            try:
                self._process.wait(_END_LIMIT)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def __enter__(self) -> Nursery:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _readable(descriptor: int, limit: float) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, selectors.EVENT_READ)
        return bool(selector.select(limit))
