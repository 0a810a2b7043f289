"""The progress that a trial tells of while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """A snapshot; times are seconds of trial time."""

    phase: str
    """join, settle, measure or drain."""
    trial_time: float
    trial_end: float
    peers_up: int
    asked: int
    """Operations that peers began, such as publications or lookups."""
    delivered: int
    """Outcomes, such as events that reached subscribers, or lookups that arrived."""
    messages: int
    """Sent so far, maintenance included."""
    words: tuple[str, str] = ("asked", "done")
    """What the kind of workload calls both."""
    hosts_lost: int = 0
    """Of which no more is heard: the figures are those of the others, and what these told last."""


Report = Callable[[Progress], None]
