"""A search for loops in trees, by what each peer takes for its parent."""

from __future__ import annotations

from collections.abc import Mapping


def loop_of(parents: Mapping[int, int]) -> list[int] | None:
    """Return the peers of the first loop of parents, from child to parent; None if there is none."""
    sound: set[int] = set()
    for peer in parents:
        walked: dict[int, None] = {}
        place = peer
        while place in parents and place not in sound:
            if place in walked:
                order = list(walked)
                return order[order.index(place) :]
            walked[place] = None
            place = parents[place]
        sound.update(walked)
    return None
