"""The `processing:` part of an experiment file: the time that peers take to handle messages."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from emulator.files.quantities import Duration
from emulator.network.peer_classes import PeerClass, Population, class_problems

NANOSECONDS: Final = 1_000_000_000


class ProcessingClass(PeerClass):
    """A class of peers that take the same time for each message."""

    message: Duration = Field(ge=0, le=3600, description="time that a peer of the class takes for a message")


class Processing(BaseModel):
    """The time that each peer takes for a message, of all peers or of classes of peers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    message: Duration | None = Field(
        None, gt=0, le=3600, description="time that a peer takes for each message, one after the other"
    )
    queue: Duration = Field(
        60.0, gt=0, le=86_400, description="the longest wait; what would wait longer is dropped and counted"
    )
    classes: list[ProcessingClass] = Field(default_factory=list, max_length=100)

    def times_ns(self) -> list[int]:
        """Return the time (ns) that a message takes at peers of each class, or at all peers."""
        times = [each.message for each in self.classes] or [self.message or 0.0]
        return [round(time * NANOSECONDS) for time in times]

    def problems(self, crowd: Population) -> list[tuple[str, str]]:
        """Return the key below `processing` and the problem of each combination that cannot be."""
        problems = class_problems(self.classes, crowd)
        if self.classes and self.message is not None:
            problems.append(("message", "the classes say what each peer takes. Move it into a class"))
        if not any(self.times_ns()):
            text = "no peer takes any time, so nothing would change. Give one, such as 50 us"
            problems.append(("classes" if self.classes else "message", text))
        return problems
