"""Logs as lines of JSON, for the programs of a release: time, level, message, program, trial, host, trace.

Programs print plain text. Where JSON is asked for, this module replaces standard output and standard error by
streams that make a line of JSON of each line of text. It does so too where lines are to be sent, which then
stay plain text if JSON is not asked for.
"""

from __future__ import annotations

import io
import json
import logging
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, TextIO

VARIABLE = "TRELLIS_LOG_FORMAT"
"""The variable that asks for JSON by `json`. With any other value, or without one, logs stay plain text."""
_INFO, _ERROR = "INFO", "ERROR"

Send = Callable[[str, str, Mapping[str, str]], None]
"""A function that takes the level, the message and the further fields of a line."""


class LogLines(io.TextIOBase):
    """A stream that writes each line of text as an object of JSON on a line of its own, or as it is."""

    def __init__(
        self,
        sink: TextIO,
        level: str,
        about: dict[str, str],
        sends: Sequence[Send] = (),
        as_json: bool = True,
    ) -> None:
        """`about` has the fields that all lines get, and `sends` gets each line; both may change later."""
        self._sink = sink
        self._level = level
        self._about = about
        self._sends = sends
        self._as_json = as_json
        self._begun = threading.local()

    def write(self, text: str) -> int:
        whole = getattr(self._begun, "text", "") + text
        *lines, self._begun.text = whole.split("\n")
        for line in lines:
            self.note(self._level, line)
        return len(text)

    def note(self, level: str, message: str, **more: str) -> None:
        """Write one line. Lines without text are left out."""
        if not message.strip():
            return
        if self._as_json:
            at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            fields = {"time": at, "level": level, "message": message} | self._about | more
            self._sink.write(json.dumps(fields, ensure_ascii=False) + "\n")
        else:
            self._sink.write(more.get("exception", message).rstrip("\n") + "\n")
        for send in self._sends:
            send(level, message, self._about | more)

    def flush(self) -> None:
        self._sink.flush()

    def fileno(self) -> int:
        return self._sink.fileno()

    def writable(self) -> bool:
        return True


_about: dict[str, str] = {}
_sends: list[Send] = []


def begin(service: str, environment: Mapping[str, str], host: str = "", sent: bool = False) -> None:
    """Write JSON from now on, if the environment asks for it. `sent` says that `send_by` is to come."""
    as_json = environment.get(VARIABLE) == "json"
    if not as_json and not sent:
        return
    _about.update({"service": service} | ({"host": host} if host else {}))
    sys.stdout = LogLines(sys.stdout, _INFO, _about, _sends, as_json)
    sys.stderr = errors = LogLines(sys.stderr, _ERROR, _about, _sends, as_json)
    logging.basicConfig(handlers=[_Handler(errors)], level=logging.WARNING)

    def excepthook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        whole = "".join(traceback.format_exception(kind, error, trace))
        errors.note(_ERROR, f"{kind.__name__}: {error}", exception=whole)
        errors.flush()

    sys.excepthook = excepthook


def send_by(send: Send) -> None:
    """Give this function each line from now on, beside writing it."""
    _sends.append(send)


def of_trial(trial: str, traceparent: str) -> None:
    """Give the lines from now on the names of this trial and its trace; "" takes them away."""
    trace = traceparent.split("-")[1] if traceparent else ""
    for name, value in (("trial", trial), ("trace_id", trace)):
        if value:
            _about[name] = value
        else:
            _about.pop(name, None)


def words_of(line: str) -> str:
    """Return the message of a line of a log, whether it is JSON or plain text."""
    if not line.startswith("{"):
        return line
    try:
        fields: Any = json.loads(line)
    except (ValueError, RecursionError):
        return line
    message = fields.get("message") if isinstance(fields, dict) else None
    return message if isinstance(message, str) else line


class _Handler(logging.Handler):
    """Writes what libraries log."""

    def __init__(self, lines: LogLines) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.note(record.levelname, record.getMessage(), logger=record.name)
