"""Plumtree promises of its eager links that they become a tree (Leitao, Pereira, Rodrigues, SRDS 2007).

A copy that comes a second time makes its link lazy at both ends (section 3.2), so messages that pass a loop
of eager links break it, and messages that pass a link that is eager at one end alone mend it. Links are
judged after many messages, because the network may lose the copies that come a second time, or the words of
them.
"""

from __future__ import annotations

from typing import Any

from emulator.contract.invariants import Broken, PeersUp
from emulator.protocols.broadcast.plumtree import LEAST_PUSHED, LEAST_S, Plumtree


def broken(up: PeersUp) -> Broken | None:
    """Return a link that is eager at one end alone, or else a loop of eager links.

    Only links count whose ends have each other as neighbours.
    """
    settled = {peer: plumtree for peer, plumtree in up.parts(Plumtree) if _is_settled(plumtree)}
    links: dict[int, list[int]] = {}
    for peer, plumtree in settled.items():
        links[peer] = []
        for other in plumtree.eager:
            if other in settled and peer in settled[other].links:
                if peer not in settled[other].eager:
                    return Broken(
                        [peer, other], "the link from the first to the second is eager at the first alone"
                    )
                links[peer].append(other)
    loop = _loop(links)
    return None if loop is None else Broken(loop, f"{len(loop)} peers have eager links in a loop")


def _is_settled(plumtree: Any) -> bool:
    """Return whether messages have passed the peer's eager links since these last changed."""
    long_ago = plumtree.environment.now - plumtree.changed_at >= LEAST_S
    return bool(long_ago and plumtree.pushed_since >= LEAST_PUSHED)


def _loop(links: dict[int, list[int]]) -> list[int] | None:
    """Return the peers of a loop, in its order; `links` has each link at both ends."""
    came_from: dict[int, int] = {}
    for first in links:
        if first in came_from:
            continue
        came_from[first] = first
        waiting = [first]
        while waiting:
            here = waiting.pop()
            for there in links[here]:
                if there == came_from[here]:
                    continue
                if there in came_from:
                    return _between(came_from, here, there)
                came_from[there] = here
                waiting.append(there)
    return None


def _between(came_from: dict[int, int], one: int, other: int) -> list[int]:
    """Return the peers on the way from one peer to another one of the same search, both included."""
    up: list[int] = [one]
    while came_from[up[-1]] != up[-1]:
        up.append(came_from[up[-1]])
    down: list[int] = [other]
    while down[-1] not in up:
        down.append(came_from[down[-1]])
    return up[: up.index(down[-1])] + down[::-1]
