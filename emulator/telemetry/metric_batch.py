"""A batch of data points of one time, encoded as OTLP."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Mapping
from operator import index
from typing import Any

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

    Raises TypeError for gauges that are no numbers by name, and what the component raises, with its name.
    """
    declared = component.GAUGES
    for name, state in _asked(component, component.gauges, of):
        gauge = declared.get(name)
        if sampled and (gauge is None or not gauge.sampled):
            continue
        try:
            batch.add_gauge(prefix + name, float("" if isinstance(state, str) else state), of)
        except (TypeError, ValueError, OverflowError):
            what = f"the gauge {name!r} of {_who(component, of)} is {state!r:.80}"
            raise TypeError(f"{what}, which is no number that a float holds") from None
        if gauge is not None:
            batch.describe(prefix + name, gauge)


def add_links(batch: MetricBatch, component: Component, of: dict[str, int | str]) -> None:
    """Add the links of a component.

    Raises TypeError for neighbours that are no numbers of peers by kind, and what the component raises, with
    its name.
    """
    for kind, others in _asked(component, component.neighbours, of):
        try:
            for other in map(index, others):
                if not 0 <= other < _MOST_PEERS:
                    raise ValueError
                batch.add_gauge(names.LINK, 1, of | {names.NEIGHBOUR: other, names.KIND: kind})
        except (TypeError, ValueError):
            what = f"the neighbours {kind!r} of {_who(component, of)} are {others!r:.80}"
            raise TypeError(f"{what}, which are no numbers of peers") from None


def _asked(component: Component, ask: Callable[[], Any], of: dict[str, int | str]) -> ItemsView[str, Any]:
    """Return what a component answers by name.

    Raises TypeError unless that is a mapping with texts as keys, and what the component raises, with its
    name."""
    try:
        answer: Any = ask()
    except Exception as error:
        error.add_note(f"{ask.__name__}() of {_who(component, of)} was called")
        raise
    if not isinstance(answer, Mapping):
        what = f"{ask.__name__}() of {_who(component, of)} returned {answer!r:.80}"
        raise TypeError(f"{what}, which is no mapping. Return a dict by name")
    for name in answer:
        if not isinstance(name, str) or not name.isprintable():
            what = f"{ask.__name__}() of {_who(component, of)} has the name {name!r:.80}"
            raise TypeError(f"{what}, which is no text of one line")
    return answer.items()


def _who(component: Component, of: dict[str, int | str]) -> str:
    on = f" on channel {of[names.CHANNEL]!r}" if names.CHANNEL in of else ""
    return f"{type(component).__name__} of peer {of[names.PEER]}{on}"


def where(peer: int, channel: str) -> dict[str, int | str]:
    """Return the attributes that name a component and its peer."""
    return {names.PEER: peer, names.CHANNEL: channel} if channel else {names.PEER: peer}
