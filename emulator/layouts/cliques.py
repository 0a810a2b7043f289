"""Cliques by hierarchical agglomerative clustering (Kyra, figure 5), the measure for other cliques."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def cluster(rtt: NDArray[np.float64], diameter: float, size: int, minimum: int = 1) -> list[list[int]]:
    """Return the cliques, each sorted: at most `size` servers, at most `diameter` (s) between any two.

    The distance of two cliques is that of their farthest servers. The nearest two that fit together merge,
    until no two do: the result must be neither too wide nor too large. (The paper's loop ends only when a
    pair is too far; if no pair fits in size and none is too far it would go on for ever.) Then each clique
    below `minimum` joins the nearest one with room, however far, the smallest clique first.
    """
    servers = len(rtt)
    distance = rtt.astype(np.float64).copy()
    np.fill_diagonal(distance, np.inf)
    members = [[server] for server in range(servers)]
    sizes = np.ones(servers, np.int64)
    alive = np.ones(servers, np.bool_)
    # Two cliques that can never merge count as infinitely far apart; sizes only grow.
    fits = np.where(distance <= diameter, distance, np.inf)
    nearest = fits.argmin(axis=1)
    least = fits[np.arange(servers), nearest]
    while np.isfinite(least.min(initial=np.inf)):
        one = int(least.argmin())
        two = int(nearest[one])
        _join(members, distance, sizes, alive, one, two)
        allowed = alive & (sizes + sizes[one] <= size) & (distance[one] <= diameter)
        allowed[one] = False
        row = np.where(allowed, distance[one], np.inf)
        fits[two], fits[:, two] = np.inf, np.inf
        fits[one], fits[:, one] = row, row
        for server in np.flatnonzero(alive & ((nearest == one) | (nearest == two))):
            nearest[server] = fits[server].argmin()
            least[server] = fits[server, nearest[server]]
        closer = row < least
        nearest[closer], least[closer] = one, row[closer]
        least[two] = np.inf
        nearest[one] = row.argmin()
        least[one] = row[nearest[one]]
    while True:
        small = [c for c in np.flatnonzero(alive) if sizes[c] < minimum]
        small.sort(key=lambda c: (sizes[c], c))
        for clique in small:
            room = alive & (sizes + sizes[clique] <= size)
            room[clique] = False
            if room.any():
                other = int(np.where(room, distance[clique], np.inf).argmin())
                _join(members, distance, sizes, alive, other, int(clique))
                break
        else:
            return [sorted(members[clique]) for clique in np.flatnonzero(alive)]


def _join(
    members: list[list[int]],
    distance: NDArray[np.float64],
    sizes: NDArray[np.int64],
    alive: NDArray[np.bool_],
    one: int,
    two: int,
) -> None:
    """Merge the second clique into the first."""
    members[one] += members[two]
    sizes[one] += sizes[two]
    alive[two] = False
    distance[one] = np.maximum(distance[one], distance[two])
    distance[:, one] = distance[one]
    distance[one, one] = np.inf


def mean_inside(cliques: list[list[int]], rtt: NDArray[np.float64]) -> float:
    """Return the mean RTT (s) over all pairs of servers of one clique; 0 if there are no pairs."""
    total, pairs = 0.0, 0
    for clique in cliques:
        inside = rtt[np.ix_(clique, clique)]
        total += float(np.triu(inside, 1).sum())
        pairs += len(clique) * (len(clique) - 1) // 2
    return total / pairs if pairs else 0.0
