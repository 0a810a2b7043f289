"""Named streams of randomness, all derived from the trial's seed.

A stream depends on the seed and its own name alone, so one more draw in one place changes no other stream.
"""

from __future__ import annotations

import hashlib
import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def _derive(seed: int, names: tuple[str | int, ...]) -> int:
    digest = hashlib.sha256(repr((seed, *names)).encode()).digest()
    return int.from_bytes(digest[:16], "big")


def stream(seed: int, *names: str | int) -> random.Random:
    """Return the stream of this name, for scalar draws."""
    return random.Random(_derive(seed, names))


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """Return the stream of this name, for arrays."""
    import numpy as np  # a host of a fleet draws no arrays, and is smaller by 10 MB without it

    return np.random.Generator(np.random.PCG64(_derive(seed, names)))
