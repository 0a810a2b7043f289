"""The candidates for a server's parent on a tree that was laid out, chosen so that repair makes no cycle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_STAND_INS: Final = 8
"""The servers at the top of the tree that replace the root for a server whose ancestors are all down."""
ROOT: Final = -1


def candidates(parents: Mapping[int, int], server: int) -> list[int]:
    """Return the candidates for a server's parent, the best first: its ancestors, then the top of the tree.

    All of them lie before the server in the order of the tree's levels, so there is never a cycle, whichever
    servers fail. A server that was not laid out on the tree comes after all others.
    """
    found: list[int] = []
    at = parents.get(server, ROOT)
    while at != ROOT:
        found.append(at)
        at = parents[at]
    for other in _first(parents):
        if other == server:
            break
        if other not in found:
            found.append(other)
    return found


def _first(parents: Mapping[int, int]) -> list[int]:
    """Return the first servers in the order of the tree's levels."""
    order = [server for server, parent in parents.items() if parent == ROOT]
    place = 0
    while place < len(order) < _STAND_INS:
        order += sorted(server for server, parent in parents.items() if parent == order[place])
        place += 1
    return order[:_STAND_INS]
