"""The progress of trials that run elsewhere, told by datagrams.

News may get lost: they are only for display, and nothing depends on them. News of an executor without the
sweep's token are ignored.
"""

from __future__ import annotations

import contextlib
import hmac
import json
import secrets
import select
import socket
import time
from dataclasses import asdict
from types import TracebackType
from typing import Self

from pydantic import TypeAdapter, ValidationError

from emulator.network.loopback import family_of
from emulator.runtime.progress import Progress

_LARGEST = 4096
_MOST = 1000
"""The most datagrams that are read at a time, so that a flood holds nothing up."""
_INTERVAL = 0.5
_PROGRESS = TypeAdapter(Progress)


class Listener:
    """Hears of trials, at an address of this machine."""

    def __init__(self, host: str) -> None:
        self._socket = socket.socket(family_of(host), socket.SOCK_DGRAM)
        self._socket.bind((host, 0))
        self._socket.setblocking(False)
        self.token = secrets.token_hex(16)
        self.host = host
        self.port = int(self._socket.getsockname()[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def hear(self, timeout: float) -> dict[str, Progress]:
        """Return the newest progress of each trial, by its name; wait at most `timeout` seconds for any."""
        news: dict[str, Progress] = {}
        select.select([self._socket], [], [], timeout)
        for _ in range(_MOST):
            try:
                data = self._socket.recv(_LARGEST)
            except OSError:  # nothing more
                break
            try:
                told = json.loads(data)
                if hmac.compare_digest(str(told["token"]).encode(), self.token.encode()):
                    news[str(told["trial"])] = _PROGRESS.validate_python(told["progress"])
            except (ValueError, TypeError, LookupError, RecursionError, ValidationError):
                continue
        return news


class Teller:
    """Tells a listener of one trial, at a bounded rate."""

    def __init__(self, host: str, port: int, token: str, trial: str) -> None:
        self._socket = socket.socket(family_of(host), socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._there = host, port
        self._fixed = {"token": token, "trial": trial}
        self._phase = ""
        self._told = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def tell(self, progress: Progress) -> None:
        """Send the progress, without ever waiting or failing."""
        if progress.phase == self._phase and time.monotonic() - self._told < _INTERVAL:
            return
        self._phase, self._told = progress.phase, time.monotonic()
        with contextlib.suppress(OSError):
            self._socket.sendto(
                json.dumps(self._fixed | {"progress": asdict(progress)}).encode(), self._there
            )
