"""The plain twin of `routes.c`, which has the rule: the next hops of topics on a ring of regions."""

from __future__ import annotations

from bisect import bisect_right

from librt.vecs import vec
from mypy_extensions import i64


def next_hops(topics: bytes, keys: vec[i64], starts: vec[i64], hops: vec[i64]) -> dict[int, int] | None:
    """Return the topics by next hop, None if a key is a border of regions."""
    if len(starts) != len(hops) or len(starts) == 0:
        raise ValueError("regions and next hops do not fit together")
    borders = list(starts)
    by_hop: dict[int, int] = {}
    for topic in range(8 * len(topics)):
        if topics[topic // 8] >> topic % 8 & 1:
            key = keys[topic]
            region = bisect_right(borders, key) - 1
            if borders[region] == key:
                return None
            hop = hops[region]
            if hop >= 0:
                by_hop[hop] = by_hop.get(hop, 0) | 1 << topic
    return by_hop
