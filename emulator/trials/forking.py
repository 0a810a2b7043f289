"""The process that forks trials, see `emulator.trials.nursery`.

Its standard input is a socket. Each byte on it comes with four files: a child's job, its log, the pipe for
its progress, and one on which this process writes the child's number, and later how it has ended. A child is
reaped when the parent closes the other end of that file, so that its number stays its own until then.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import struct
import sys
import traceback

ASK = b"f"
"""The byte that asks for a child."""
PROGRESS = 3
"""The number that the pipe for progress has in a child."""
STATUS = struct.Struct("=i")
"""The form of a child's number and of its exit status, negative for a signal."""
_FILES = 4
_TURN = 1_000
"""The milliseconds after which a signal that was missed is made up for."""


class _Children:
    """The children that have not been reaped, by the file on which they are told of."""

    def __init__(self) -> None:
        self._pids: dict[int, int] = {}
        self._ended: set[int] = set()
        self._closed: set[int] = set()

    def add(self, told: int, pid: int) -> None:
        self._pids[told] = pid
        _tell(told, pid)

    def look(self) -> None:
        """Tell of those that have ended since the last time, and reap those whose parent has heard it."""
        for told, pid in list(self._pids.items()):
            if told not in self._ended:
                found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                if found is None:
                    continue
                self._ended.add(told)
                exited = found.si_code == os.CLD_EXITED
                _tell(told, found.si_status if exited else -found.si_status)
            if told in self._closed:
                os.waitpid(pid, 0)
                os.close(told)
                del self._pids[told]
                self._ended.discard(told)
                self._closed.discard(told)

    def close(self, told: int) -> None:
        """Note that the parent has closed its end of the file."""
        self._closed.add(told)

    @property
    def heard(self) -> list[int]:
        """The files of which the parent has not closed its end."""
        return [told for told in self._pids if told not in self._closed]

    @property
    def files(self) -> list[int]:
        return list(self._pids)


def _tell(told: int, number: int) -> None:
    with contextlib.suppress(BrokenPipeError):  # the parent has gone
        os.write(told, STATUS.pack(number))


def _child(module: str, files: list[int], others: list[int]) -> None:
    """Become the process of a trial. Does not return."""
    status = 1
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        job, log, progress, told = files
        for place, file in ((0, job), (1, log), (2, log), (PROGRESS, progress)):
            os.dup2(file, place)
        for file in {job, log, progress, told, *others} - {0, 1, 2, PROGRESS}:
            os.close(file)
        status = importlib.import_module(module).main()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def main(module: str) -> None:
    """Fork children until the parent closes its end of standard input."""
    importlib.import_module(module)
    # The children share the memory of all loaded modules as long as the collector does not touch it.
    gc.collect()
    gc.freeze()
    ask = socket.socket(fileno=os.dup(0))
    woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    children = _Children()
    while True:
        poll = select.poll()
        poll.register(ask, select.POLLIN)
        poll.register(woken, select.POLLIN)
        for told in children.heard:
            poll.register(told, 0)  # only that the parent has closed its end
        for file, _ in poll.poll(_TURN):
            if file == ask.fileno():
                asked, files, _, _ = socket.recv_fds(ask, len(ASK), _FILES)
                if not asked:
                    return
                pid = os.fork()
                if pid == 0:
                    _child(module, files, [ask.fileno(), woken, wake, *children.files])
                for each in files[:3]:
                    os.close(each)
                children.add(files[3], pid)
            elif file == woken:
                os.read(woken, 4096)
            else:
                children.close(file)
        children.look()


if __name__ == "__main__":
    main(sys.argv[1])
