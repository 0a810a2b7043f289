"""How often each topic is published to."""

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
    subscribed: NDArray[np.int32] | None = None,
) -> NDArray[np.float64]:
    """Events/s of each topic, with `events` expected on all topics together in `duration` seconds.

    Without publications the rates are those of one event, so that they can still be compared. A power
    law gives the topics ranks at random (Vitis, section IV.D). `subscribed` are the topics of all
    subscriptions, for rates by popularity.
    """
    weight: NDArray[np.float64] = np.ones(topics)
    if isinstance(rates, PowerLaw):
        weight = np.power(1.0 + random.permutation(topics), -rates.alpha)
    elif isinstance(rates, Popularity) and subscribed is not None and len(subscribed):
        weight = np.bincount(subscribed, minlength=topics).astype(np.float64)
    scale: float = max(events, 1) / (duration * weight.sum())
    return weight * scale
