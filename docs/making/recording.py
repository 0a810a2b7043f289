"""The recording of a command in a terminal: what its screen showed, and when."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import termios
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

COLUMNS: Final = 100
ROWS: Final = 24
_CODE = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|\x1b.|([\r\n])|([^\x1b\r\n]+)", re.DOTALL)
Cell = tuple[str, str]
"""A character and its style, the numbers that the terminal was told, such as "1;32"."""


def record(command: Sequence[str]) -> Iterator[tuple[float, str]]:
    """Run a command in a terminal; yield each piece of its output with the seconds since the start.

    Raises RuntimeError if the command fails.
    """
    child, terminal = pty.fork()
    if child == 0:
        os.environ |= {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": str(ROWS)}
        os.execvp(command[0], list(command))
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    began, rest = time.monotonic(), b""
    while True:
        try:
            piece = os.read(terminal, 1 << 16)
        except OSError:  # the command has ended
            break
        if not piece:
            break
        text, rest = _whole_characters(rest + piece)
        yield time.monotonic() - began, text
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status):
        raise RuntimeError(f"{' '.join(command)} failed")


def _whole_characters(data: bytes) -> tuple[str, bytes]:
    """Return the text of all whole characters and the bytes of a last one that is cut."""
    for cut in range(min(4, len(data)) + 1):
        try:
            return data[: len(data) - cut].decode(), data[len(data) - cut :]
        except UnicodeDecodeError:
            continue
    return data.decode(errors="replace"), b""


@dataclass(slots=True)
class Screen:
    """The lines of a terminal that goes up, clears lines and has colours, as Rich's progress needs it."""

    lines: list[list[Cell]] = field(default_factory=lambda: [[]])
    _row: int = 0
    _column: int = 0
    _style: str = ""

    def write(self, text: str) -> None:
        """Show a piece of output."""
        for numbers, code, control, plain in _CODE.findall(text):
            if plain:
                self._put(plain)
            elif control == "\r":
                self._column = 0
            elif control == "\n":
                self._row += 1
                if self._row == len(self.lines):
                    self.lines.append([])
            elif code == "A":
                self._row = max(self._row - int(numbers or 1), 0)
            elif code == "K":
                self.lines[self._row] = [] if numbers == "2" else self.lines[self._row][: self._column]
            elif code == "m":
                self._style = "" if numbers in ("", "0") else numbers

    def _put(self, text: str) -> None:
        line = self.lines[self._row]
        line.extend([(" ", "")] * (self._column - len(line)))
        line[self._column : self._column + len(text)] = [(character, self._style) for character in text]
        self._column += len(text)
