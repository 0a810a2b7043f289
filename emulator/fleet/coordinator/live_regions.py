"""The regions of a trial that have live series of their own."""

from __future__ import annotations

from collections.abc import Collection

from emulator.experiment.plan.tables import REGION, Plan
from trellis.v1 import control_pb2

MOST_REGIONS = 50
"""The most regions that have series of their own; a trial with more of them has none."""


class LiveRegions:
    """The regions of a plan by their numbers, and the region of each peer."""

    def __init__(self, plan: Plan) -> None:
        known = REGION.name in plan.peers.column_names
        of_peers = plan.peers[REGION.name].to_pylist() if known else []
        names = sorted({name for name in of_peers if name})
        self.names = names if len(names) <= MOST_REGIONS else []
        """The names, by number; none where the latency knows no regions, or too many of them."""
        numbers = {name: number for number, name in enumerate(self.names)}
        self._of_peers = [numbers.get(name) for name in of_peers]

    def put(self, assignment: control_pb2.Assignment, peers: Collection[int]) -> None:
        """Add the regions of a host's peers to its part of the plan."""
        if self.names:
            for peer in peers:
                if (number := self._of_peers[peer]) is not None:
                    assignment.regions[peer] = number
            assignment.region_count = len(self.names)

    def by_name(self, counts: Collection[int]) -> dict[str, int]:
        """Return counts by number as counts by name."""
        return dict(zip(self.names, counts, strict=False))
