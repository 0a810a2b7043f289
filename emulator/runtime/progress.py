"""The progress that a trial reports while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from emulator.files.input_facts import counted


@dataclass(frozen=True, slots=True)
class Progress:
    """A snapshot; times are seconds of trial time."""

    phase: str
    """The phase: join, settle, measure or drain."""
    trial_time: float
    trial_end: float
    peers_up: int
    asked: int
    """The number of operations that peers began, such as publications or lookups."""
    delivered: int
    """The number of outcomes, such as events that reached subscribers, or lookups that arrived."""
    messages: int
    """The number of messages sent so far, including maintenance."""
    words: tuple[str, str] = ("asked", "done")
    """The words that the kind of workload has for operations asked, and outcomes."""
    hosts_lost: int = 0
    """The number of hosts that were lost; the figures above hold what these told last."""
    held_up: str = ""
    """The sentence on what holds the trial up, such as hosts that are not ready; "" if nothing does."""

    def told(self) -> str:
        """Return the snapshot in words, without what holds the trial up."""
        if self.phase == "plan":
            return "drawing the plan"
        asked, done = self.words
        text = (
            f"{self.phase}, {self.trial_time:.0f} of {self.trial_end:.0f} s, "
            f"{counted(self.peers_up, 'peer')} up, {self.asked:,} {asked}, {self.delivered:,} {done}"
        )
        if not self.hosts_lost:
            return text
        return f"{text} at least, of the hosts that told ({counted(self.hosts_lost, 'host')} lost)"


Report = Callable[[Progress], None]
