"""The changes of links' rates that the faults of a trial ask for."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from emulator.faults.spec import FaultSpec
from emulator.network.access_links import NANOSECONDS
from emulator.network.rate_change import NEVER, RateChange


def rate_changes(faults: Sequence[FaultSpec], hit: Sequence[Collection[int]]) -> list[RateChange]:
    """Return the changes that these faults make; `hit` has the peers that each hits."""
    return [
        RateChange(
            round(fault.begins * NANOSECONDS),
            NEVER if fault.ends == math.inf else round(fault.ends * NANOSECONDS),
            peers,
            fault.links.bandwidth.up,
            fault.links.bandwidth.down,
            fault.name,
        )
        for fault, peers in zip(faults, hit, strict=True)
        if fault.links is not None and fault.links.bandwidth is not None
    ]
