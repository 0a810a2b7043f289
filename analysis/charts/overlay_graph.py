"""The drawing of an overlay's graph: peers as dots and links as lines, by kind."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from analysis.charts.graph_layout import Place

SIZE: Final = 600
"""The width and the height of the drawing."""
_MARGIN: Final = 14
MOST_LINKS: Final = 4000
"""The most links that are drawn: of more, each n-th is."""
_RADIUS: Final = SIZE / 2 - _MARGIN


@dataclass(frozen=True, slots=True)
class Links:
    """Links that look alike: pairs of peers, each once."""

    label: str
    pairs: Sequence[tuple[int, int]]
    style: int
    faint: bool = False


@dataclass(frozen=True, slots=True)
class OverlayGraph:
    """The graph of one trial's overlay, ready to draw."""

    name: str
    title: str
    about: str
    trial: str
    places: Mapping[int, Place]
    links: Sequence[Links]

    size: int = SIZE

    @property
    def dots(self) -> str:
        """The path of all peers, whose points are as large as the line is wide."""
        return "".join(f"M{x} {y}h0" for x, y in dict.fromkeys(map(_spot, self.places.values())))

    @property
    def radius(self) -> float:
        """The radius (drawing units) of a dot, which is smaller the more peers there are."""
        return max(1.2, min(4.0, 35 / math.sqrt(len(self.places))))

    def path(self, links: Sequence[tuple[int, int]]) -> str:
        """Return the path of links as straight lines."""
        ends = ((_spot(self.places[one]), _spot(self.places[two])) for one, two in links)
        return "".join(f"M{x} {y}L{to_x} {to_y}" for (x, y), (to_x, to_y) in ends)


def thinned(links: Sequence[Links]) -> tuple[list[Links], int]:
    """Return links without those that are too many, evenly chosen, and the number of all."""
    count = sum(len(each.pairs) for each in links)
    every = -(-count // MOST_LINKS)
    if every <= 1:
        return list(links), count
    return [Links(each.label, each.pairs[::every], each.style, each.faint) for each in links], count


def _spot(place: Place) -> tuple[int, int]:
    return round(SIZE / 2 + _RADIUS * place[0]), round(SIZE / 2 + _RADIUS * place[1])
