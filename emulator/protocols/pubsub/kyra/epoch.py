"""An epoch: the zones that hold for a time, and who has which of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from emulator.protocols.overlays.cliques.view import WHOLE
from emulator.protocols.pubsub.content.space import Box, EventSpace, box_of, filter_of
from emulator.protocols.pubsub.kyra.parameters import Bounds, KyraLayout
from trellis.v1.kyra import KyraEpoch

STEP: Final = 1 << 12
"""Between the numbers of epochs that follow each other; two that are drawn at once differ in the rest."""


class Piece:
    """A part of the event space at one server: a zone, or a part of one."""

    __slots__ = ("box", "holder", "tree")

    def __init__(self, tree: int, box: Box, holder: int) -> None:
        self.tree = tree
        self.box = box
        self.holder = holder


class Epoch:
    """Zones in the order in which the servers of a clique share them."""

    def __init__(self, number: int, begins: float, parts: int, zones: list[Box]) -> None:
        self.number = number
        self.begins = begins
        self.parts = parts
        self.zones = zones

    @property
    def trees(self) -> int:
        """T."""
        return -(-len(self.zones) // self.parts)

    def holders(self, members: Sequence[int], ends: Sequence[int]) -> list[int]:
        """The server of each zone in a clique: the one whose share has the zone's middle."""
        found, place = [], 0
        for zone in range(len(self.zones)):
            middle = (2 * zone + 1) * WHOLE // (2 * len(self.zones))
            while ends[place] <= middle and place + 1 < len(ends):
                place += 1
            found.append(members[place])
        return found

    def pieces(self, members: Sequence[int], ends: Sequence[int]) -> list[Piece]:
        """What the servers of a clique have."""
        holders = self.holders(members, ends)
        return [Piece(number // self.parts, zone, holders[number]) for number, zone in enumerate(self.zones)]

    def region(self, tree: int) -> Box:
        """A box around the tree's zones."""
        zones = self.zones[tree * self.parts : (tree + 1) * self.parts]
        lows = tuple([min(values) for values in zip(*[zone.lows for zone in zones], strict=True)])
        highs = tuple([max(values) for values in zip(*[zone.highs for zone in zones], strict=True)])
        return Box(lows, highs)

    def message(self) -> KyraEpoch:
        return KyraEpoch(self.number, self.begins, self.parts, [filter_of(zone) for zone in self.zones])


def epoch_in(message: KyraEpoch) -> Epoch:
    """The epoch that a message carries."""
    return Epoch(message.number, message.begins, message.parts, [box_of(zone) for zone in message.zones])


def epoch_of(layout: KyraLayout, space: EventSpace) -> Epoch:
    """The epoch that was laid out: the first, from the start on."""
    return Epoch(1, 0.0, layout.parts, [to_box(bounds, space) for bounds in layout.zones])


def to_box(bounds: Bounds, space: EventSpace) -> Box:
    """A box that has no end where the bounds reach the end of a domain."""
    lows = [-math.inf if low <= space.lows[index] else low for index, (low, _) in enumerate(bounds)]
    highs = [math.inf if high >= space.highs[index] else high for index, (_, high) in enumerate(bounds)]
    return Box(tuple(lows), tuple(highs))


def to_bounds(box: Box, space: EventSpace) -> Bounds:
    """The other way round."""
    return [
        (max(low, space.lows[index]), min(high, space.highs[index]))
        for index, (low, high) in enumerate(zip(box.lows, box.highs, strict=True))
    ]
