"""The metric of what a program's servers refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from prometheus_client.metrics_core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from emulator.trust.refusals import REASONS, Refusals


class RefusalMetrics(Collector):
    """The connections and requests that the servers of this program refused, by reason."""

    def __init__(self, release: str, program: str, servers: Sequence[Refusals]) -> None:
        self._labels = [release, program]
        self._servers = servers

    def collect(self) -> Iterable[Metric]:
        """Yield the counts of all reasons, those of which there is none too."""
        counts = CounterMetricFamily(
            "trellis_refused",
            "Connections and requests that a program refused, by reason",
            labels=["release", "program", "reason"],
        )
        told = [server.counts() for server in self._servers]
        for reason in REASONS:
            counts.add_metric([*self._labels, reason], sum(each[reason] for each in told))
        yield counts
