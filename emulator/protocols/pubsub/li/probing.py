"""The choice of tree nodes to probe: RndLeafProbe (section 3.3) and RndRegionProbe (section 3.4.1)."""

from __future__ import annotations

import random
from collections import deque

from emulator.protocols.pubsub.li.parameters import LiParameters
from emulator.protocols.pubsub.li.space import ROOT, Area, Attribute, TargetArea, halves


def leaf_probe(
    attribute: Attribute, x: float, y: float, parameters: LiParameters, draw: random.Random
) -> int:
    """Return the node at a random level whose area covers the point (program 3.2, lines 11 to 44)."""
    return attribute.position_of(x, y, draw.randint(parameters.min_level, parameters.max_level))


def region_probe(target: TargetArea, parameters: LiParameters, draw: random.Random) -> list[int]:
    """Return nodes from minl to maxl whose areas together cover the target and do not overlap (program 3.3).

    The choice goes breadth first from the root. A node that overlaps the target is taken with probability p
    from level minl on, and always at maxl; if it is not taken, its halves are considered instead.
    """
    attribute = target.attribute
    everything: Area = (attribute.low, attribute.high, attribute.low, attribute.high)
    waiting = deque([(ROOT, 0, everything)])
    chosen: list[int] = []
    while waiting:
        position, level, area = waiting.popleft()
        if not target.overlaps(area):
            continue
        if level >= parameters.max_level or (
            level >= parameters.min_level and draw.random() < parameters.select
        ):
            chosen.append(position)
            continue
        lower, upper = halves(area, level)
        waiting.append((2 * position, level + 1, lower))
        waiting.append((2 * position + 1, level + 1, upper))
    return chosen
