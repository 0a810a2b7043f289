"""The closest peer to a key, among the peers that were up at a place for some time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from analysis.tables.identifiers import Home
from emulator.contract.identifiers import SPACES, ClockwiseRing, Ring

Numbers = npt.NDArray[np.float64]
Ranks = npt.NDArray[np.int64]


class Homes:
    """The places at which peers were, in the order of their identifiers, and the times when each peer was
    there."""

    def __init__(self, homes: Iterable[Home], metric: str, bits: int) -> None:
        """Sort the homes. `metric` is the name of one of `SPACES`, `bits` the length of identifiers and keys.

        Homes of one peer at one identifier do not overlap. Raises ValueError for another metric.
        """
        if metric not in SPACES:
            raise ValueError(f"peers told identifiers of the metric {metric!r}, none of {', '.join(SPACES)}")
        self.space = SPACES[metric](bits)
        found = sorted(homes)
        self.places = sorted({(home.identifier, home.peer) for home in found})
        """The places as (identifier, peer); the rank of a place is its number here."""
        self._identifiers = [identifier for identifier, _ in self.places]
        rank_of = {place: rank for rank, place in enumerate(self.places)}
        self._rank: Ranks = np.array([rank_of[home.identifier, home.peer] for home in found], np.int64)
        since = np.array([home.since_s for home in found], np.float64)
        self._until: Numbers = np.array([home.until_s for home in found], np.float64)
        self._span = float(self._until.max(initial=0.0)) + 1
        self._begin: Numbers = self._rank * self._span + since
        """The beginnings of homes, ascending: those of one place lie between two multiples of the span."""

    def closest(self, keys: Sequence[int], since: Numbers, until: Numbers) -> list[tuple[int, int] | None]:
        """Return for each key the closest (identifier, peer) of those that were there from `since` to
        `until`."""
        if isinstance(self.space, Ring | ClockwiseRing):
            ranks = self._on_ring(keys, since, until)
        else:
            times = zip(since.tolist(), until.tolist(), strict=True)
            ranks = [self._by_prefix(key, *time) for key, time in zip(keys, times, strict=True)]
        return [self.places[rank] if rank >= 0 else None for rank in ranks]

    def _on_ring(self, keys: Sequence[int], since: Numbers, until: Numbers) -> list[int]:
        """Return the first peer that was there above each key, or also below it if both directions count."""
        places = np.array([bisect_left(self._identifiers, key) for key in keys], np.int64)
        above = self._first_there(places, 1, since, until)
        if isinstance(self.space, ClockwiseRing):
            return [int(rank) for rank in above]
        below = self._first_there(places - 1, -1, since, until)
        ends = zip(keys, above.tolist(), below.tolist(), strict=True)
        return [self._closer(key, one, other) if one >= 0 else -1 for key, one, other in ends]

    def _closer(self, key: int, *ranks: int) -> int:
        return min(ranks, key=lambda rank: self.space.distance(self._identifiers[rank], key))

    def _by_prefix(self, key: int, since: float, until: float) -> int:
        """Return the closest by exclusive or: a peer that shares a longer prefix with the key is closer to
        it."""
        for bits in range(max(self.space.bits - len(self.places).bit_length(), 0), self.space.bits + 1):
            low = key >> bits << bits
            ends = (bisect_left(self._identifiers, end) for end in (low, low + (1 << bits)))
            ranks = np.arange(*ends, dtype=np.int64)
            there = ranks[self._there(ranks, since, until)].tolist()
            if there:
                return self._closer(key, *there)
        return -1

    def _first_there(self, places: Ranks, step: int, since: Numbers, until: Numbers) -> Ranks:
        """Return, from each place in one direction, the rank of the first peer that was there, or -1."""
        found = np.full(len(places), -1)
        rest = np.arange(len(places))
        for passed in range(len(self.places)):
            rank = (places[rest] + step * passed) % len(self.places)
            there = self._there(rank, since[rest], until[rest])
            found[rest[there]] = rank[there]
            rest = rest[~there]
            if not len(rest):
                break
        return found

    def _there(self, rank: Ranks, since: Numbers | float, until: Numbers | float) -> npt.NDArray[np.bool_]:
        """Return whether the last home at each place that began by `since` lasted until after `until`."""
        if not len(rank):
            return np.zeros(0, np.bool_)
        last = np.searchsorted(self._begin, rank * self._span + np.minimum(since, self._span), "right") - 1
        there: npt.NDArray[np.bool_] = (last >= 0) & (self._rank[last] == rank) & (self._until[last] > until)
        return there
