"""A headless Chromium that tests drive by its DevTools protocol, over two pipes and without any network."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from select import select
from types import TracebackType
from typing import Any, Final, Self

_LONGEST: Final = 120.0
"""The seconds after which a browser that says nothing is given up."""


class Chromium:
    """A browser with one page.

    It answers each command in turn. A command that fails raises RuntimeError with the browser's words.
    """

    def __init__(self, program: str, profile: Path) -> None:
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        flags = "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --remote-debugging-pipe"
        # The browser reads commands at the descriptor 3 and answers at 4.
        line = f'exec "$0" {flags} "$1" 3<&{to_read} 4>&{to_write}'
        self._process = subprocess.Popen(
            ["bash", "-c", line, program, f"--user-data-dir={profile}"],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._text = b""
        self._session = ""
        self._events: list[str] = []
        self._number = 0
        target = self.do("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.do("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.do("Page.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)

    def do(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command to the page, and return its result."""
        self._number += 1
        asked: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            asked["sessionId"] = self._session
        os.write(self._write, json.dumps(asked).encode() + b"\0")
        while (told := self._next()).get("id") != self._number:
            self._events.append(told.get("method", ""))
        if "error" in told:
            raise RuntimeError(f"{method}: {told['error']['message']}")
        found: dict[str, Any] = told["result"]
        return found

    def open(self, page: Path) -> None:
        """Open a file, and wait until it is loaded."""
        self._events.clear()
        self.do("Page.navigate", url=page.as_uri())
        while "Page.loadEventFired" not in self._events:
            self._events.append(self._next().get("method", ""))

    def value(self, script: str) -> Any:
        """Return the value of an expression in the page; that of a promise is waited for."""
        told = self.do("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in told:
            raise RuntimeError(str(told["exceptionDetails"]))
        return told["result"].get("value")

    def press_tab(self) -> None:
        """Press and release the tab key."""
        key = {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
        self.do("Input.dispatchKeyEvent", type="rawKeyDown", **key)
        self.do("Input.dispatchKeyEvent", type="keyUp", **key)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._text:
            ready, _, _ = select([self._read], [], [], _LONGEST)
            more = os.read(self._read, 1 << 16) if ready else b""
            if not more:
                raise RuntimeError("the browser has ended" if ready else f"no answer in {_LONGEST:g} s")
            self._text += more
        text, _, self._text = self._text.partition(b"\0")
        told: dict[str, Any] = json.loads(text)
        return told
