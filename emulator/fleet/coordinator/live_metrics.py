"""Metrics for Prometheus of trials while they run, from what the coordinator knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar

from emulator.fleet.coordinator.live_totals import Tally
from emulator.fleet.coordinator.requests import Requests
from emulator.runtime.live_histograms import BOUNDS, DURATIONS
from trellis.v1 import control_pb2

HOST_STATES = ("starting", "ready", "restarted", "lost", "finished")
"""The states of a host; a host is in one of them. "restarted" means ready again after it was away."""


@dataclass(frozen=True, slots=True)
class HostReading:
    """One host at one moment. Counts are since the trial began, processor time since its last start."""

    host: str
    peers_up: int
    sent: int
    """The messages that its peers sent."""
    cpu_s: float
    """The processor time in seconds."""
    timer_lateness_max_s: float
    """The greatest lateness of a timer, in wall seconds."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One trial at one moment, summed over its hosts. Counts are since the trial began and never fall."""

    trial: str
    system: str
    state: str
    """The state of the trial, "running" for instance."""
    time_s: float
    """The trial time in seconds."""
    end_s: float
    """The trial time in seconds at which the trial is over."""
    peers_up: int
    joined: int
    asked: int
    """Operations that peers began."""
    delivered: int
    sent: int
    """The messages that peers sent."""
    dropped: int
    """The envelopes that hosts dropped."""
    lost_spans: int
    timer_lateness_max_s: float
    """The greatest lateness of a timer at any host, in wall seconds."""
    hosts: Mapping[str, int]
    """The number of hosts in each of `HOST_STATES`."""
    cpu_s: float = 0.0
    """The processor time of the hosts' programs in seconds."""
    histograms: Mapping[str, Tally] = field(default_factory=dict)
    """The histograms of all hosts by their names in `BOUNDS`."""
    sent_of_kind: Mapping[str, int] = field(default_factory=dict)
    """The messages that peers sent, by kind: events, notifications, control or maintenance."""
    delivered_in_region: Mapping[str, int] = field(default_factory=dict)
    """The outcomes at peers of each region."""
    up_in_region: Mapping[str, int] = field(default_factory=dict)
    """The peers that are up in each region."""
    slowest: Sequence[HostReading] = ()
    """The hosts that have series of their own."""


_GAUGES: list[tuple[str, str, Callable[[Reading], float]]] = [
    ("trellis_peers_up", "Peers that are up", lambda r: r.peers_up),
    ("trellis_trial_time_seconds", "Trial time", lambda r: r.time_s),
    ("trellis_trial_end_seconds", "Trial time at which the trial is over", lambda r: r.end_s),
    (
        "trellis_timer_lateness_max_seconds",
        "Wall time by which the latest timer of any host was late",
        lambda r: r.timer_lateness_max_s,
    ),
]
_COUNTERS: list[tuple[str, str, Callable[[Reading], float]]] = [
    ("trellis_joins", "Joins of peers", lambda r: r.joined),
    ("trellis_operations", "Operations that peers began, such as publications", lambda r: r.asked),
    ("trellis_deliveries", "Outcomes, such as events that reached a subscriber", lambda r: r.delivered),
    ("trellis_messages_sent", "Messages that peers sent", lambda r: r.sent),
    ("trellis_envelopes_dropped", "Envelopes that hosts dropped, which is a fault", lambda r: r.dropped),
    ("trellis_spans_lost", "Spans that could not be written, which is a fault", lambda r: r.lost_spans),
    ("trellis_hosts_cpu_seconds", "Processor time of the programs of all hosts", lambda r: r.cpu_s),
]
_HISTOGRAMS = {
    "timer_lateness": (
        "trellis_timer_lateness_seconds",
        "Wall time by which timers of hosts were late",
    ),
    "delay_error": (
        "trellis_delay_error_seconds",
        "Difference of achieved and requested one-way delay of probes in wall time, drift of clocks included",
    ),
    "delivery_delay": (
        "trellis_delivery_delay_seconds",
        "Trial time from the begin of an operation to an outcome, such as a delivery",
    ),
    "hops": ("trellis_delivery_hops", "Hops of the overlay that outcomes took"),
}
"""The name and the help of each histogram of `BOUNDS`."""
_BY_LABEL: list[tuple[type[GaugeMetricFamily] | type[CounterMetricFamily], str, str, str, str]] = [
    (
        CounterMetricFamily,
        "trellis_kind_messages_sent",
        "Messages that peers sent, by kind",
        "kind",
        "sent_of_kind",
    ),
    (
        CounterMetricFamily,
        "trellis_region_deliveries",
        "Outcomes at peers of a region",
        "region",
        "delivered_in_region",
    ),
    (GaugeMetricFamily, "trellis_region_peers_up", "Peers of a region that are up", "region", "up_in_region"),
]
"""The metrics with one more label: type, name, help, the label, and what a reading has by it."""
_OF_HOSTS: list[tuple[type[GaugeMetricFamily] | type[CounterMetricFamily], str, str, str]] = [
    (GaugeMetricFamily, "trellis_host_peers_up", "Peers of the host that are up", "peers_up"),
    (
        GaugeMetricFamily,
        "trellis_host_timer_lateness_max_seconds",
        "Wall time by which the latest timer of the host was late",
        "timer_lateness_max_s",
    ),
    (CounterMetricFamily, "trellis_host_messages_sent", "Messages that peers of the host sent", "sent"),
    (CounterMetricFamily, "trellis_host_cpu_seconds", "Processor time of the host's program", "cpu_s"),
]


class LiveCollector(Collector):
    """A collector that reads the state of the trials each time that Prometheus scrapes."""

    def __init__(self, release: str, read: Callable[[], Sequence[Reading]]) -> None:
        self._release = release
        self._read = read

    def collect(self) -> Iterable[Metric]:
        """Yield each metric with one sample for each trial, labelled by release and trial."""
        readings = self._read()
        labels = ["release", "trial"]
        for name, help_text, value in _GAUGES:
            gauge = GaugeMetricFamily(name, help_text, labels=labels)
            for reading in readings:
                gauge.add_metric([self._release, reading.trial], value(reading))
            yield gauge
        for name, help_text, value in _COUNTERS:
            counter = CounterMetricFamily(name, help_text, labels=labels)
            for reading in readings:
                counter.add_metric([self._release, reading.trial], value(reading))
            yield counter
        for key, (name, help_text) in _HISTOGRAMS.items():
            histogram = HistogramMetricFamily(name, help_text, labels=labels)
            for reading in readings:
                if key in reading.histograms:
                    tally = reading.histograms[key]
                    buckets = _buckets(BOUNDS[key], tally.counts, tally.exemplars)
                    histogram.add_metric([self._release, reading.trial], buckets, tally.sum)
            yield histogram
        for family, name, help_text, label, key in _BY_LABEL:
            series = family(name, help_text, labels=[*labels, label])
            for reading in readings:
                for of, value in sorted(getattr(reading, key).items()):
                    series.add_metric([self._release, reading.trial, of], value)
            yield series
        for family, name, help_text, key in _OF_HOSTS:
            series = family(name, help_text, labels=[*labels, "host"])
            for reading in readings:
                for host in reading.slowest:
                    series.add_metric([self._release, reading.trial, host.host], getattr(host, key))
            yield series
        hosts = GaugeMetricFamily("trellis_hosts", "Hosts by state", labels=[*labels, "state"])
        trial = InfoMetricFamily("trellis_trial", "What a trial runs and how it stands", labels=labels)
        for reading in readings:
            for state in HOST_STATES:
                hosts.add_metric([self._release, reading.trial, state], reading.hosts.get(state, 0))
            trial.add_metric(
                [self._release, reading.trial], {"system": reading.system, "state": reading.state}
            )
        yield hosts
        yield trial


class RequestCollector(Collector):
    """A collector of the calls of hosts and of the churn controller."""

    def __init__(self, release: str, requests: Requests) -> None:
        self._release = release
        self._requests = requests

    def collect(self) -> Iterable[Metric]:
        """Yield the calls by method and status code, and how long they took by method."""
        counts = CounterMetricFamily(
            "trellis_control_requests",
            "Calls of the coordinator's gRPC service by how they ended",
            labels=["release", "method", "code"],
        )
        for (method, code), count in sorted(self._requests.ends.copy().items()):
            counts.add_metric([self._release, method, code], count)
        yield counts
        durations = HistogramMetricFamily(
            "trellis_control_request_duration_seconds",
            "Wall time of these calls; Register, AwaitStart and AwaitChurn wait for others",
            labels=["release", "method"],
        )
        for method, taken in self._requests.durations.items():
            buckets = _buckets(DURATIONS, taken.within(DURATIONS), {})
            durations.add_metric([self._release, method], buckets, taken.total())
        yield durations


def _buckets(
    bounds: Sequence[float], counts: Sequence[int], exemplars: Mapping[int, control_pb2.Exemplar]
) -> list[tuple[str, float] | tuple[str, float, Exemplar]]:
    """Return each bound with the count of all that is within it, and the exemplar if there is one."""
    named = [*(str(float(bound)) for bound in bounds), "+Inf"]
    buckets: list[tuple[str, float] | tuple[str, float, Exemplar]] = []
    for index, (name, within) in enumerate(zip(named, accumulate(counts), strict=True)):
        told = exemplars.get(index)
        if told is None:
            buckets.append((name, within))
        else:
            trace = {"trace_id": told.trace_id.hex()}
            buckets.append((name, within, Exemplar(trace, told.value, told.at_s)))
    return buckets
