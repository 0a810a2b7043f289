"""The time that messages kept the peers of a host busy, as `fidelity.json` has it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProcessingReport:
    """The messages that the peers of one class handled at one host, and the time for which they were busy.

    Times are seconds of trial time, of all these peers together.
    """

    host: str
    processing_class: str
    """The name of the class, "all" if all peers take the same time."""
    messages: int
    asked_s: float
    """The time that these messages are to take."""
    achieved_s: float
    """The time in which a peer had one of them in hand, without the time for which it was paused. The time of
    its handler is in it, and what the host was late by."""
