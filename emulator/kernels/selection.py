"""The plain twins of `selection.c`, which has the rules: the choices of Vitis's Algorithm 4."""

from __future__ import annotations

import math
from typing import Final

from librt.vecs import vec
from mypy_extensions import i64

_RING: Final = 1 << 62


def near(handles: vec[i64], count: int, places: vec[i64], here: int, reaches: vec[float]) -> list[int]:
    """Return the successor, the predecessor and the small-world links."""
    if not 0 <= count <= len(handles):
        raise ValueError(f"there are no {count} candidates")
    if count == 0:
        return []
    clockwise = [int(places[handles[i64(place)]] - here) % _RING for place in range(count)]
    successor, predecessor = clockwise.index(min(clockwise)), clockwise.index(max(clockwise))
    if successor == predecessor:
        return [successor]
    chosen = [successor, predecessor]
    gap = (clockwise[successor] + _RING - clockwise[predecessor]) // 2
    # These are floats because compiled code would round quotients of large whole numbers differently.
    least = float(max(1, min(gap, _RING // 4)))
    spread = math.log(float(_RING // 2) / least)
    for reach in reaches:
        length = least * math.exp(spread * math.fabs(reach))
        if not length < float(_RING):
            raise ValueError("a link reaches round the ring")
        target = _RING - int(length) if math.copysign(1.0, reach) < 0 else int(length)
        left = [place for place in range(count) if place not in chosen]
        if not left:
            break
        chosen.append(min(left, key=lambda place: abs(clockwise[place] - target)))
    return chosen


def best(
    utilities: memoryview[float],
    handles: vec[i64],
    count: int,
    places: vec[i64],
    here: int,
    kept: int,
    taken: list[int],
    most: int,
) -> list[int]:
    """Return the candidates of the highest utility that are not taken."""
    if not 0 <= count <= min(len(utilities), len(handles)):
        raise ValueError(f"there are no {count} candidates")
    orders = [places[handles[i64(place)]] ^ here for place in range(count)]
    left = [place for place in range(count) if place not in taken]
    left.sort(key=lambda place: (-utilities[place], place >= kept, orders[place]))
    return left[:most]
