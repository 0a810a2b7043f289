"""The wiring of a peer: it decides when to sample the ring and choose its long links anew.

A peer does so when it has joined, once more when the peers around it have links too, and then whenever the
population has changed (Magnet, section 2.2, has it done periodically).
"""

from __future__ import annotations

from emulator.contract.protocol import Environment
from emulator.protocols.overlays.oscar.links import LongLinks
from emulator.protocols.overlays.oscar.parameters import RingParameters
from emulator.protocols.overlays.oscar.partitions import Partitions
from emulator.protocols.overlays.oscar.ring import RingNeighbours


class Wiring:
    """The wirings of one peer since it has its place."""

    def __init__(
        self, environment: Environment, parameters: RingParameters, ring: RingNeighbours, links: LongLinks
    ) -> None:
        self._environment = environment
        self._rewire = parameters.rewire
        self._turnover = parameters.turnover
        self._ring = ring
        self._links = links
        self.count = 0
        """The number of wirings at this place."""
        self._at = 0.0
        """The time from which the next wiring is counted (s)."""
        self._among: set[int] = set()
        """The successors at the last wiring."""

    def begin(self) -> None:
        """Begin at a new place, without a wiring yet."""
        self.count = 0
        self._at = self._environment.now

    def wire(self, partitions: Partitions) -> None:
        """Choose the links anew from these partitions.

        The next time is drawn, so that peers do not keep step.
        """
        self.count += 1
        self._at = self._environment.now + self._rewire * 0.5 * self._environment.random.random()
        self._among = self._successors()
        self._links.choose(partitions)

    def is_due(self) -> bool:
        """Return whether it is time for the next wiring."""
        if self.count == 0:
            return bool(self._ring.successors)
        if self._environment.now - self._at < self._rewire:
            return False
        return self.count == 1 or self._has_moved()

    def _has_moved(self) -> bool:
        """Return whether the population has changed, judged by this peer's own successors."""
        changed = len(self._successors() ^ self._among)
        return changed > 2 * self._turnover * len(self._among)

    def _successors(self) -> set[int]:
        return {contact.peer for contact in self._ring.successors}
