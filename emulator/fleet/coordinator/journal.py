"""A journal of what the hosts of a trial told, from which a restarted coordinator takes up the trial."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from google.protobuf.message import Message

from emulator.fleet.coordinator.coordinator import Coordinator
from trellis.v1 import control_pb2

_MESSAGES: dict[str, type[Message]] = {
    "register": control_pb2.Registration,
    "ready": control_pb2.Ready,
    "finish": control_pb2.HostFidelity,
    "note_progress": control_pb2.HostProgress,
    "note_killed": control_pb2.Killed,
}
"""The messages that the journal keeps, by the coordinator's method that takes them.

They are those that change the state of a trial for good. Of a host's progress, the journal keeps only the
last word of each start."""


class Journal:
    """A file with one call of the coordinator a line, written before the host hears the answer."""

    def __init__(self, path: Path) -> None:
        """Raises OSError if the file cannot be opened."""
        self._file = path.open("ab", buffering=0)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._file.close()

    def note(self, call: str, message: Message, at_ns: int) -> None:
        """Keep a call. Raises OSError if it cannot be written."""
        text = base64.b64encode(message.SerializeToString()).decode()
        self._file.write(json.dumps({"at_ns": at_ns, "call": call, "message": text}).encode() + b"\n")


def replay(path: Path, coordinator: Coordinator) -> None:
    """Repeat the calls in an earlier coordinator's journal, if there is one.

    A last line that was not finished was never answered, so it is left out.
    """
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    for line in lines:
        entry = json.loads(line)
        message = _MESSAGES[entry["call"]].FromString(base64.b64decode(entry["message"]))
        call: Callable[[Any, int], Any] = getattr(coordinator, entry["call"])
        call(message, entry["at_ns"])
