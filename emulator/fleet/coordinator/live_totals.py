"""Sums over all hosts of a trial, kept as reports come because a scrape cannot add up thousands of hosts."""

from __future__ import annotations

from collections import Counter
from itertools import zip_longest

from emulator.runtime.live_histograms import BOUNDS
from trellis.v1 import control_pb2


class Tally:
    """The counts of one histogram, by bounds of `BOUNDS`, and the sum of what was counted."""

    def __init__(self, size: int) -> None:
        self.counts = [0] * size
        self.sum = 0.0
        self.exemplars: dict[int, control_pb2.Exemplar] = {}
        """The newest exemplar of each bound that has had any."""

    def take(self, before: control_pb2.Histogram, now: control_pb2.Histogram) -> None:
        """Take what a host tells now, which contains what it told before.

        No count falls in between, since a scrape may read at any time.
        """
        for index, (old, new) in enumerate(zip_longest(before.counts, now.counts, fillvalue=0)):
            self.counts[index] += new - old
        self.sum += now.sum - before.sum
        for exemplar in now.exemplars:
            known = self.exemplars.get(exemplar.bound)
            if known is None or known.at_s <= exemplar.at_s:
                self.exemplars[exemplar.bound] = exemplar


class LiveTotals:
    """The histograms, the messages and the processor time of all starts of hosts, as far as they told."""

    def __init__(self) -> None:
        self.histograms = {name: Tally(len(bounds) + 1) for name, bounds in BOUNDS.items()}
        self.cpu_s = 0.0
        """The processor time of the hosts' programs in seconds."""
        self.sent_of_kind: Counter[str] = Counter()
        """The messages that peers sent, by kind."""
        self.delivered_in_region: list[int] = []
        """The outcomes at peers of each region, by the region's number."""

    def take(self, before: control_pb2.HostProgress, now: control_pb2.HostProgress) -> None:
        """Take the next report of a host's start, which contains the one `before`."""
        self.cpu_s += now.cpu_s - before.cpu_s
        for kind, sent in now.sent_of_kind.items():
            self.sent_of_kind[kind] += sent - before.sent_of_kind.get(kind, 0)
        added = zip_longest(
            self.delivered_in_region, now.delivered_in_region, before.delivered_in_region, fillvalue=0
        )
        self.delivered_in_region = [known + new - old for known, new, old in added]
        for name, tally in self.histograms.items():
            tally.take(getattr(before, name), getattr(now, name))
