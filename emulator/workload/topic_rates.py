"""Rates at which topics are published to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.workload.spec import Popularity, PowerLaw, Rates


def draw_rates(
    rates: Rates,
    topics: int,
    events: int,
    duration: float,
    random: np.random.Generator,
    popularity: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """Return the events/s of each topic, with `events` expected on all topics together in `duration` seconds.

    Without publications the rates are those of one event, so that they can still be compared. A power law
    gives the topics ranks at random (Vitis, section IV.D), or by `popularity`, the number of subscribers of
    each (Magnet, section 4.2); of equally popular topics the first has the first rank. Rates by popularity
    are proportional to it.
    """
    weight: NDArray[np.float64] = np.ones(topics)
    if isinstance(rates, PowerLaw):
        rank = random.permutation(topics)
        if rates.ranks == "popularity" and popularity is not None:
            rank = np.argsort(np.argsort(-popularity, kind="stable"))
        weight = np.power(1.0 + rank, -rates.alpha)
    elif isinstance(rates, Popularity) and popularity is not None and popularity.any():
        weight = popularity.astype(np.float64)
    scale: float = max(events, 1) / (duration * weight.sum())
    return weight * scale
