"""Logs as lines of JSON, for the programs of a release: time, level, message, program, trial, host, trace.

Programs print plain text. Where JSON is asked for, this module replaces standard output and standard error by
streams that make a line of JSON of each line of text.
"""

from __future__ import annotations

import io
import json
import logging
import sys
import threading
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, TextIO

VARIABLE = "TRELLIS_LOG_FORMAT"
"""The variable that asks for JSON by `json`. With any other value, or without one, logs stay plain text."""
_INFO, _ERROR = "INFO", "ERROR"


class LogLines(io.TextIOBase):
    """A stream that writes each line of text as an object of JSON on a line of its own."""

    def __init__(self, sink: TextIO, level: str, about: dict[str, str]) -> None:
        """`about` has the fields that all lines get, and may change later."""
        self._sink = sink
        self._level = level
        self._about = about
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
        at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        fields = {"time": at, "level": level, "message": message} | self._about | more
        self._sink.write(json.dumps(fields, ensure_ascii=False) + "\n")

    def flush(self) -> None:
        self._sink.flush()

    def fileno(self) -> int:
        return self._sink.fileno()

    def writable(self) -> bool:
        return True


_about: dict[str, str] = {}


def begin(service: str, environment: Mapping[str, str], host: str = "") -> None:
    """Write JSON from now on, if the environment asks for it."""
    if environment.get(VARIABLE) != "json":
        return
    _about.update({"service": service} | ({"host": host} if host else {}))
    sys.stdout = LogLines(sys.stdout, _INFO, _about)
    sys.stderr = errors = LogLines(sys.stderr, _ERROR, _about)
    logging.basicConfig(handlers=[_Handler(errors)], level=logging.WARNING)

    def excepthook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        whole = "".join(traceback.format_exception(kind, error, trace))
        errors.note(_ERROR, f"{kind.__name__}: {error}", exception=whole)
        errors.flush()

    sys.excepthook = excepthook


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
