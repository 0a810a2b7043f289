"""An epoch: the zones of the event space that hold for a time, and the servers that have them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from emulator.protocols.overlays.cliques.view import WHOLE
from emulator.protocols.pubsub.content.space import Box, EventSpace, box_of, filter_of
from emulator.protocols.pubsub.kyra.parameters import Bounds, KyraLayout
from trellis.v1.kyra import KyraEpoch

STEP: Final = 1 << 12
"""The step between the numbers of epochs that follow each other. The rest of a number tells which server drew
it."""


class Piece:
    """A part of the event space at one server: a zone, or a part of one."""

    __slots__ = ("box", "holder", "tree")

    def __init__(self, tree: int, box: Box, holder: int) -> None:
        self.tree = tree
        self.box = box
        self.holder = holder


class Epoch:
    """The zones of an epoch, in the order in which the servers of a clique share them."""

    def __init__(self, number: int, begins: float, parts: int, zones: list[Box]) -> None:
        self.number = number
        self.begins = begins
        self.parts = parts
        self.zones = zones

    @property
    def trees(self) -> int:
        """The number of trees, the paper's T."""
        return -(-len(self.zones) // self.parts)

    def holders(self, members: Sequence[int], ends: Sequence[int]) -> list[int]:
        """Return the server of each zone in a clique: the one whose share has the zone's middle."""
        found, place = [], 0
        for zone in range(len(self.zones)):
            middle = (2 * zone + 1) * WHOLE // (2 * len(self.zones))
            while ends[place] <= middle and place + 1 < len(ends):
                place += 1
            found.append(members[place])
        return found

    def pieces(self, members: Sequence[int], ends: Sequence[int]) -> list[Piece]:
        """Return the pieces of the event space that the servers of a clique have."""
        holders = self.holders(members, ends)
        return [Piece(number // self.parts, zone, holders[number]) for number, zone in enumerate(self.zones)]

    def region(self, tree: int) -> Box:
        """Return a box around the tree's zones."""
        zones = self.zones[tree * self.parts : (tree + 1) * self.parts]
        lows = tuple([min(values) for values in zip(*[zone.lows for zone in zones], strict=True)])
        highs = tuple([max(values) for values in zip(*[zone.highs for zone in zones], strict=True)])
        return Box(lows, highs)

    def message(self) -> KyraEpoch:
        return KyraEpoch(self.number, self.begins, self.parts, [filter_of(zone) for zone in self.zones])


def epoch_in(message: KyraEpoch) -> Epoch:
    """Return the epoch that a message carries."""
    return Epoch(message.number, message.begins, message.parts, [box_of(zone) for zone in message.zones])


def epoch_of(layout: KyraLayout, space: EventSpace) -> Epoch:
    """Return the epoch that was laid out: the first one, which holds from the start."""
    return Epoch(1, 0.0, layout.parts, [to_box(bounds, space) for bounds in layout.zones])


def to_box(bounds: Bounds, space: EventSpace) -> Box:
    """Return the box of these bounds, without an end where the bounds reach the end of a domain."""
    lows = [-math.inf if low <= space.lows[index] else low for index, (low, _) in enumerate(bounds)]
    highs = [math.inf if high >= space.highs[index] else high for index, (_, high) in enumerate(bounds)]
    return Box(tuple(lows), tuple(highs))


def to_bounds(box: Box, space: EventSpace) -> Bounds:
    """Return the bounds of a box, with the domain's end where the box has none."""
    return [
        (max(low, space.lows[index]), min(high, space.highs[index]))
        for index, (low, high) in enumerate(zip(box.lows, box.highs, strict=True))
    ]
