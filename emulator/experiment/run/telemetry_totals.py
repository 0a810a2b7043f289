"""The totals that a writer reports of its telemetry, to compare with what the analysis finds."""

from __future__ import annotations

from typing import NamedTuple


class Written(NamedTuple):
    """The totals that one start of a host reported of its spans and data points."""

    host: str
    start: int
    """The number of the host's start within the trial, from 0 on."""
    spans: int
    """The spans that were written for certain."""
    points: int
    lost_spans: int
    """The spans that were recorded and not kept, as far as is known: their receiver may not have been able to
    say so."""
    lost_points: int
    last_word: bool
    """Whether the host reported these totals at its end; if not, it may have written more."""
