"""The identifiers that peers had in their overlays, as they told."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from emulator.telemetry import names

CLOCK_SLACK_S = 1.0
"""The seconds by which a peer may seem to take an identifier before its session: its host's clock drifted."""


class Home(NamedTuple):
    """A peer at one place of the identifier space, from one time to another (s)."""

    identifier: int
    peer: int
    since_s: float
    until_s: float


def identifiers(points: DataFrame) -> DataFrame:
    """Return the rows of the table `identifiers`."""
    return points.where(F.col("name") == names.TAKEN_IDENTIFIER).select(
        "trial", "peer", F.coalesce("channel", F.lit("")).alias("channel"), "at_s", "identifier", "space"
    )


def homes(
    taken: Iterable[tuple[int, float, int]], sessions: Iterable[tuple[int, float, float]]
) -> Iterator[Home]:
    """Yield where each peer was.

    `taken` has (peer, at_s, identifier), `sessions` (peer, start_s, end_s). A peer keeps an identifier until
    it takes the next one or its session ends. A peer is nowhere in a session in which it took none.
    """
    lives: dict[int, list[tuple[float, float]]] = {}
    for peer, start_s, end_s in sorted(sessions):
        lives.setdefault(peer, []).append((start_s, end_s))
    in_order = sorted(taken)
    for place, (peer, at_s, identifier) in enumerate(in_order):
        last = bisect_right(lives.get(peer, []), (at_s + CLOCK_SLACK_S, float("inf"))) - 1
        if last < 0:
            continue
        start_s, until_s = lives[peer][last]
        following = in_order[place + 1] if place + 1 < len(in_order) else None
        if following is not None and following[0] == peer:
            until_s = min(until_s, following[1])
        since_s = max(at_s, start_s)
        if since_s < until_s:
            yield Home(identifier, peer, since_s, until_s)
