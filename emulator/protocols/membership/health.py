"""Lifeguard's measure of a member's own health, by which it waits longer (LHA-Probe)."""

from __future__ import annotations


class LocalHealth:
    """The local health multiplier of one member, from 0 (healthy) to its largest score."""

    def __init__(self, largest: int) -> None:
        """Keep the score from 0 to `largest`; with 0 the member always counts as healthy."""
        self._largest = largest
        self.score = 0

    @property
    def multiple(self) -> int:
        """By how much probes take longer: the score and 1."""
        return self.score + 1

    def change(self, by: int) -> None:
        """Make the score worse by a positive number, or better by a negative one."""
        self.score = max(0, min(self.score + by, self._largest))
