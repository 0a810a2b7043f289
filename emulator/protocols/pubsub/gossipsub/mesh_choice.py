"""A peer chooses by scores and outbound connections who stays in a mesh that it prunes (v1.1, "Heartbeat
Maintenance")."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from random import Random


def survivors(
    members: Sequence[int],
    scores: Mapping[int, float],
    outbound: Container[int],
    *,
    degree: int,
    best: int,
    out: int,
    draw: Random,
) -> list[int]:
    """Return the `degree` members that stay: the `best` ones by score, and others at random.

    At least `out` of them are outbound, if there are as many: outbound members take the places of the last
    chosen others. `members` are in random order, which decides between equal scores.
    """
    by_score = sorted(members, key=lambda peer: -scores[peer])
    others = by_score[best:]
    draw.shuffle(others)
    order = by_score[:best] + others
    kept, left = order[:degree], order[degree:]
    missing = out - sum(peer in outbound for peer in kept)
    for peer in left:
        if missing <= 0:
            break
        if peer in outbound:
            place = max(at for at, one in enumerate(kept) if one not in outbound)
            kept[place] = peer
            missing -= 1
    return kept


def median(values: Sequence[float]) -> float:
    """Return the middle of the values; the upper one of two, as go-libp2p-pubsub takes it."""
    return sorted(values)[len(values) // 2]
