"""A batch of data points of one time, encoded as OTLP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from opentelemetry.proto.metrics.v1 import metrics_pb2
from opentelemetry.proto.resource.v1 import resource_pb2

from emulator.contract.protocol import Component, Gauge
from emulator.telemetry import names

_MOST_PEERS = 200_000
_CUMULATIVE = metrics_pb2.AGGREGATION_TEMPORALITY_CUMULATIVE


class MetricBatch:
    """Collects points of one time into a `MetricsData` message."""

    def __init__(self, resource: bytes, scope: str, start_unix_ns: int, at_ns: int) -> None:
        self.at_ns = at_ns
        self.points = 0
        self._start = start_unix_ns
        self._data = metrics_pb2.MetricsData()
        resource_metrics = self._data.resource_metrics.add(
            resource=resource_pb2.Resource.FromString(resource)
        )
        self._scope = resource_metrics.scope_metrics.add()
        self._scope.scope.name = scope
        self._by_name: dict[str, metrics_pb2.Metric] = {}

    def add_sum(self, name: str, value: int, attributes: Mapping[str, int | str]) -> None:
        metric = self._metric(name)
        metric.sum.aggregation_temporality = _CUMULATIVE
        metric.sum.is_monotonic = True
        point = metric.sum.data_points.add(start_time_unix_nano=self._start, as_int=value)
        self._finish(point, attributes)

    def add_gauge(self, name: str, value: float, attributes: Mapping[str, int | str]) -> None:
        self._finish(self._metric(name).gauge.data_points.add(as_double=value), attributes)

    def describe(self, name: str, gauge: Gauge) -> None:
        """Add to the metric what its component says of it: unit, text and direction."""
        metric = self._metric(name)
        metric.unit, metric.description = gauge.unit, gauge.text
        if gauge.better and not metric.metadata:
            metric.metadata.add(key=names.BETTER).value.string_value = gauge.better

    def encode(self) -> bytes:
        return self._data.SerializeToString()

    def _metric(self, name: str) -> metrics_pb2.Metric:
        metric = self._by_name.get(name)
        if metric is None:
            metric = self._by_name[name] = self._scope.metrics.add(name=name)
        return metric

    def _finish(self, point: metrics_pb2.NumberDataPoint, attributes: Mapping[str, int | str]) -> None:
        point.time_unix_nano = self._start + self.at_ns
        self.points += 1
        for key, value in attributes.items():
            attribute = point.attributes.add(key=key)
            if isinstance(value, int):
                attribute.value.int_value = value
            else:
                attribute.value.string_value = value


def add_gauges(
    batch: MetricBatch, prefix: str, component: Component, of: dict[str, int | str], sampled: bool = False
) -> None:
    """Add a component's gauges, all or those that are `sampled`.

    Raises TypeError for a value of another type.
    """
    declared, who = component.GAUGES, f"{type(component).__name__} of peer {of[names.PEER]}"
    gauges = component.gauges()
    if not isinstance(gauges, Mapping):
        raise TypeError(f"the gauges of {who} are {gauges!r:.60}, which is no mapping of names to numbers")
    for name, state in gauges.items():
        gauge = declared.get(name)
        if sampled and (gauge is None or not gauge.sampled):
            continue
        try:
            if state is None:
                raise TypeError
            batch.add_gauge(prefix + name, state, of)
        except (TypeError, OverflowError):
            raise TypeError(f"the gauge {name!r} of {who} is {state!r:.60}, which is no number") from None
        if gauge is not None:
            batch.describe(prefix + name, gauge)


def links_of(component: Component, peer: int) -> Iterator[tuple[str, int]]:
    """Yield the kind and the other peer of each link of a component at this peer.

    Raises TypeError for what is no mapping of kinds to numbers of peers, ValueError for a number that no peer
    has.
    """
    who = f"{type(component).__name__} of peer {peer}"
    links = component.neighbours()
    if not isinstance(links, Mapping):
        raise TypeError(f"the neighbours of {who} are {links!r:.60}, which is no mapping of kinds to peers")
    for kind, others in links.items():
        for other in others:
            if not (isinstance(kind, str) and isinstance(other, int)):
                raise TypeError(f"{who} has the neighbour {other!r:.60} of kind {kind!r}, which is no peer")
            if not 0 <= other < _MOST_PEERS:
                raise ValueError(f"{who} has the neighbour {other}, and no peer has such a number")
            yield kind, other


def where(peer: int, channel: str) -> dict[str, int | str]:
    """Return the attributes that name a component and its peer."""
    return {names.PEER: peer, names.CHANNEL: channel} if channel else {names.PEER: peer}
