"""The plain twin of `routes.c`, which has the rule: the next hops of topics on a ring."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from librt.vecs import vec
from mypy_extensions import i32, i64

_RING: Final = 1 << 62
_UNSURE: Final = 2
_HERE: Final = -1


def next_hops(
    topics: vec[i32],
    keys: vec[i64],
    handles: vec[i64],
    begin: int,
    end: int,
    places: vec[i64],
    peers: vec[i64],
    here: int,
) -> dict[int, vec[i32]] | None:
    """Return the topics by next hop, None if what is cut off of identifiers decides."""
    if not 0 <= begin <= end <= len(handles):
        raise ValueError(f"there are no neighbours from {begin} to {end}")
    if begin == end:
        return {}
    ring = {here % _RING: _HERE}
    for handle in handles[i64(begin) : i64(end)]:
        ring[int(places[handle]) % _RING] = int(peers[handle])
    if len(ring) <= end - begin:
        return None
    before, regions = max(ring), dict[int, int]()
    for place in sorted(ring):
        regions[(before + (place - before) % _RING // 2 + 1) % _RING] = ring[place]
        before = place
    borders = sorted(regions)
    by_hop: dict[int, list[i32]] = {}
    for topic in topics:
        key = int(keys[i64(topic)])
        region = bisect_right(borders, key) - 1
        around = borders[region], borders[(region + 1) % len(borders)]
        if any((key - border + _UNSURE) % _RING <= 2 * _UNSURE for border in around):
            return None
        hop = regions[borders[region]]
        if hop != _HERE:
            by_hop.setdefault(hop, []).append(topic)
    return {hop: vec[i32](routed) for hop, routed in by_hop.items()}
