"""Draws the peers that attack and those that faults hit, from the seed and whatever the kind is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.faults.spec import AttackersSpec, FaultSpec


def draw_attackers(
    attackers: AttackersSpec | None, peers: int, random: np.random.Generator
) -> NDArray[np.int32]:
    """Return the numbers of the peers that are attackers, ascending."""
    if attackers is None:
        return np.zeros(0, np.int32)
    chosen = random.permutation(peers)[: attackers.count(peers)]
    return np.sort(chosen).astype(np.int32)


def draw_hit(fault: FaultSpec, peers: int, random: np.random.Generator) -> NDArray[np.int32]:
    """Return the numbers of the peers that a fault hits, ascending."""
    chosen = random.permutation(peers)[: fault.hits.count(peers)]
    return np.sort(chosen).astype(np.int32)
