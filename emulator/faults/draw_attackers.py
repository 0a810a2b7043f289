"""Who behaves badly: drawn from the seed, whatever the kind of attack is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.faults.spec import AttackersSpec


def draw_attackers(
    attackers: AttackersSpec | None, peers: int, random: np.random.Generator
) -> NDArray[np.int32]:
    """Return the numbers of the peers that are attackers, ascending."""
    if attackers is None:
        return np.zeros(0, np.int32)
    chosen = random.permutation(peers)[: attackers.count(peers)]
    return np.sort(chosen).astype(np.int32)
