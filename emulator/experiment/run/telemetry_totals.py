"""What a writer of telemetry tells of it, for those who find it."""

from __future__ import annotations

from typing import NamedTuple


class Written(NamedTuple):
    """What one start of a host has told of its spans and data points."""

    host: str
    start: int
    """0, 1, ...: the host's starts within the trial."""
    spans: int
    """Written for certain."""
    points: int
    lost_spans: int
    """Recorded and not kept, as far as is known: whoever took them may not have been able to say so."""
    lost_points: int
    last_word: bool
    """The host told so at its end; else there may be more than this."""
