"""The last part of an event's path: from the proxy to the servers of its clique that want it."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.protocols.overlays.cliques.view import View


def ways(view: View, start: int, targets: Sequence[int]) -> dict[int, list[int]]:
    """Return the targets that `start` sends to itself, each with the targets that it is to send on to.

    They are the links of the spanning tree over these servers, by the round trips in the view (Prim's
    algorithm). Targets without a known round trip are reached straight from `start`.
    """
    first: dict[int, int] = {start: start}
    outside = [target for target in targets if target != start]
    found: dict[int, list[int]] = {}
    while outside:
        known = [
            (rtt, inside, target)
            for inside in first
            for target in outside
            if (rtt := view.rtt(inside, target)) is not None
        ]
        _, parent, target = min(known) if known else (0.0, start, outside[0])
        outside.remove(target)
        if parent == start:
            first[target] = target
            found[target] = []
        else:
            first[target] = first[parent]
            found[first[parent]].append(target)
    return found
