"""Durations as counts in buckets: memory is bounded, adding is cheap, and the counts of hosts add up."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

_EXACT = 64
"""The microseconds below which each duration has a bucket of its own; above, an octave has 32 buckets."""


def _bucket(microseconds: int) -> int:
    if microseconds < _EXACT:
        return microseconds
    shift = max(microseconds.bit_length() - 6, 0)
    return (shift << 5) + (microseconds >> shift)


def _upper_edge(bucket: int) -> int:
    if bucket < _EXACT:
        return bucket + 1
    shift = (bucket >> 5) - 1
    return ((bucket & 31) + 33) << shift


class Distribution:
    """A distribution in seconds; quantiles are exact to 1 microsecond or 3.2 %, and never too small."""

    __slots__ = ("_counts", "_none", "maximum")

    def __init__(self, counts: Iterable[tuple[int, int]] = (), maximum: float = 0.0) -> None:
        self._counts = dict(counts)
        self._none = 0
        """The durations of 0 that are not among the counts, as they are by far the most frequent at links."""
        self.maximum = maximum
        """The exact maximum in seconds; 0 if there are no durations."""

    def add(self, seconds: float) -> None:
        """Count one duration; a negative one counts as 0."""
        if seconds <= 0:
            self._none += 1
            return
        bucket = _bucket(int(seconds * 1e6))
        counts = self._counts
        counts[bucket] = counts.get(bucket, 0) + 1
        if seconds > self.maximum:
            self.maximum = seconds

    def merge(self, other: Distribution) -> None:
        for bucket, count in other.counts():
            self._counts[bucket] = self._counts.get(bucket, 0) + count
        self.maximum = max(self.maximum, other.maximum)

    def counts(self) -> Iterator[tuple[int, int]]:
        """Yield (bucket, count), by bucket."""
        counts = self._counts
        if self._none:
            counts = counts | {0: counts.get(0, 0) + self._none}
        yield from sorted(counts.items())

    def is_sound(self) -> bool:
        """Return whether the maximum is in the last bucket, as it is where durations were added."""
        last = max((bucket for bucket, count in self.counts() if count), default=0)
        return 0 <= self.maximum < math.inf and _bucket(int(self.maximum * 1e6)) == last

    def __len__(self) -> int:
        return self._none + sum(self._counts.values())

    def within(self, bounds: Sequence[float]) -> list[int]:
        """Return how many durations are within each of these ascending bounds (s), less those before.

        The last count is of those beyond all. What is less than 3.2 % below a bound may count as above it."""
        found = [0] * (len(bounds) + 1)
        for bucket, count in self.counts():
            found[bisect_left(bounds, _upper_edge(bucket) * 1e-6)] += count
        return found

    def total(self) -> float:
        """Return the sum of all durations in seconds, each exact to 1 microsecond or 3.2 %."""
        return sum(_upper_edge(bucket) * count for bucket, count in self.counts()) * 1e-6

    def quantile(self, share: float) -> float:
        """Return the duration in seconds that `share` (0 to 1) of all do not exceed; 0 if there are none."""
        wanted = share * len(self)
        seen = 0
        for bucket, count in self.counts():
            seen += count
            if seen >= wanted:
                return min(_upper_edge(bucket) * 1e-6, self.maximum)
        return 0.0
