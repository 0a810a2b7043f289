"""The judge of messages that cross a partition.

It looks at each message where it arrives and asks who sent it to whom, and when. So it finds whatever gets
past the faults that decide at the sender, such as a copy or a message that never met them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from emulator.faults.spec import FaultSpec


@dataclass(frozen=True, slots=True)
class Crossing:
    """A message that crossed a partition; times are s of trial time."""

    sender: int
    receiver: int
    sent_s: float
    arrived_s: float


class _Border:
    """The border between the two groups of one partition, and what crossed it."""

    def __init__(self, spec: FaultSpec, hit: Collection[int]) -> None:
        assert spec.partition is not None
        self.begins = spec.begins
        self.ends = spec.ends
        self.outward = spec.partition.way in ("both", "out")
        """This is true if no message may pass from the peers that are hit to the others; so is `inward`."""
        self.inward = spec.partition.way in ("both", "in")
        self.hit = frozenset(hit)
        self.crossed = 0
        self.first: Crossing | None = None


class Crossings:
    """Counts the messages that crossed each partition of a trial."""

    def __init__(self, specs: Sequence[FaultSpec], hit: Sequence[Collection[int]]) -> None:
        """`hit` has the peers that each fault hits."""
        self._borders = {
            spec.name: _Border(spec, some)
            for spec, some in zip(specs, hit, strict=True)
            if spec.partition is not None
        }

    def judge(self, sender: int, receiver: int, sent: float, arrived: float) -> None:
        """Judge a message that arrives. Whatever was sent before a partition began may arrive in it."""
        for border in self._borders.values():
            if border.begins <= sent < border.ends:
                out, into = sender in border.hit, receiver in border.hit
                if (out > into and border.outward) or (into > out and border.inward):
                    border.crossed += 1
                    border.first = border.first or Crossing(sender, receiver, sent, arrived)

    def crossed(self, fault: str) -> int:
        """Return how many messages crossed the partition of this name."""
        return self._borders[fault].crossed

    def first(self, fault: str) -> Crossing | None:
        """Return the first message that crossed the fault of this name, None if none did."""
        border = self._borders.get(fault)
        return None if border is None else border.first
