"""Latencies like those that King measured between 1740 name servers (Gummadi et al., IMW 2002).

Hosts lie in five clusters of a plane, each with an access delay (its height) above the plane. A
noise factor on each pair makes two-hop detours and triangle violations as frequent as in the
measurements, which no embedding in a metric space would.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_WEIGHT = np.array([0.34, 0.20, 0.28, 0.11, 0.07])
_CENTRE = 1.25 * np.array([(0.0, 0.0), (-55.0, 10.0), (85.0, 15.0), (-150.0, 70.0), (-10.0, -140.0)])
_SPREAD = 1.25 * np.array([14.0, 14.0, 16.0, 30.0, 32.0])
_BLOCK = 256


def king_rtt(hosts: int, mean_rtt: float, random: np.random.Generator) -> NDArray[np.float32]:
    """Return RTTs in seconds, `hosts` x `hosts`, symmetric with a diagonal of 0.

    The mean over all pairs is `mean_rtt` seconds. The function works in blocks of rows, so it needs little
    memory beside the result's.
    """
    cluster = random.choice(len(_WEIGHT), hosts, p=_WEIGHT)
    place = _CENTRE[cluster] + random.standard_normal((hosts, 2)) * _SPREAD[cluster, None]
    height = np.minimum(9.0 * np.exp(1.16 * random.standard_normal(hosts)), 150.0)
    rtt = np.zeros((hosts, hosts), dtype=np.float32)
    total = 0.0
    for first in range(0, hosts, _BLOCK):
        rows = slice(first, min(first + _BLOCK, hosts))
        distance = np.hypot(
            place[rows, 0, None] - place[None, first:, 0], place[rows, 1, None] - place[None, first:, 1]
        )
        noise = random.standard_normal(distance.shape)
        usual = random.random(distance.shape) < 0.92
        factor = np.exp(np.where(usual, 0.10 * noise, 0.3 * np.abs(noise)))
        block = np.triu((distance + height[rows, None] + height[None, first:]) * factor, 1)
        total += float(block.sum())
        rtt[rows, first:] += block.astype(np.float32)
        rtt[first:, rows] += block.T.astype(np.float32)
    rtt *= np.float32(mean_rtt * (hosts * (hosts - 1) / 2) / total)
    return rtt
