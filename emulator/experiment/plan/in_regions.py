"""The peers of a trial that are in regions of its latency."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from emulator.experiment.file.spec import TrialSpec


def in_regions(spec: TrialSpec, location: NDArray[np.int32], regions: Sequence[str]) -> NDArray[np.bool_]:
    """Return for each peer whether it is in one of these regions; `location` is its row of the matrix."""
    names = np.array(spec.network.latency.region_names, dtype=str)
    return np.isin(names[location], list(regions))
