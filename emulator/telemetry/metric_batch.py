"""A batch of data points of one time, encoded as OTLP.

The encoding is written by hand, as that of spans is, because a snapshot has some forty points for each peer,
and almost every attribute of a point was seen before.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, ItemsView, Mapping
from operator import index
from typing import Any, Final

from emulator.contract.protocol import Component, Gauge
from emulator.telemetry import names
from emulator.telemetry.metric_descriptions import METRICS
from emulator.telemetry.span_encoding import Attribute, field, key_value

_MOST_PEERS = 200_000
_CUMULATIVE_AND_MONOTONIC = b"\x10\x02\x18\x01"
"""The fields `aggregation_temporality` and `is_monotonic` of `Sum`."""
_GAUGE = struct.Struct("<sQsd")
_SUM = struct.Struct("<sQsQsq")
_POINT_ATTRIBUTES = 7
"""The number of the field `attributes` of `NumberDataPoint`."""
_ATTRIBUTES: Final[dict[str, Attribute]] = {}
"""The encoded attributes of points by key, which are few."""


class _Metric:
    """The encoded points of one name, and what is said of them."""

    __slots__ = ("better", "is_sum", "points", "text", "unit")

    def __init__(self, unit: str, text: str) -> None:
        self.points: list[bytes] = []
        self.is_sum = False
        self.unit = unit
        self.text = text
        self.better = ""

    def encode(self, name: str) -> bytes:
        """Return a `Metric` message."""
        points = b"".join(self.points)
        return b"".join(
            (
                field(1, name.encode()),
                field(2, self.text.encode()) if self.text else b"",
                field(3, self.unit.encode()) if self.unit else b"",
                field(7, points + _CUMULATIVE_AND_MONOTONIC) if self.is_sum else field(5, points),
                field(12, key_value(names.BETTER, self.better)) if self.better else b"",
            )
        )


class MetricBatch:
    """Collects points of one time into a `MetricsData` message."""

    def __init__(self, resource: bytes, scope: str, start_unix_ns: int, at_ns: int) -> None:
        """`resource` is an encoded `Resource`; times are in ns, `at_ns` of trial time."""
        self.at_ns = at_ns
        self.points = 0
        self._resource = resource
        self._scope = scope
        self._start = start_unix_ns
        self._metrics: dict[str, _Metric] = {}

    def add_sum(self, name: str, value: int, attributes: Mapping[str, int | str]) -> None:
        """Add a point of a total that only grows. Raises struct.error for one that 64 bits do not hold."""
        metric = self._metric(name)
        metric.is_sum = True
        times = _SUM.pack(b"\x11", self._start, b"\x19", self._start + self.at_ns, b"\x31", value)
        self._add(metric, times, attributes)

    def add_gauge(self, name: str, value: float, attributes: Mapping[str, int | str]) -> None:
        """Add a point of a value that may fall, too."""
        times = _GAUGE.pack(b"\x19", self._start + self.at_ns, b"\x21", value)
        self._add(self._metric(name), times, attributes)

    def describe(self, name: str, gauge: Gauge) -> None:
        """Add to the metric what its component says of it: unit, text and direction."""
        metric = self._metric(name)
        metric.unit, metric.text = gauge.unit, gauge.text
        metric.better = metric.better or gauge.better or ""

    def encode(self) -> bytes:
        """Return a `MetricsData` message of all points."""
        metrics = [field(2, metric.encode(name)) for name, metric in self._metrics.items()]
        scope_metrics = field(1, field(1, self._scope.encode())) + b"".join(metrics)
        return field(1, field(1, self._resource) + field(2, scope_metrics))

    def _metric(self, name: str) -> _Metric:
        metric = self._metrics.get(name)
        if metric is None:
            unit, text = METRICS.get(name, ("", ""))
            metric = self._metrics[name] = _Metric(unit, text)
        return metric

    def _add(self, metric: _Metric, content: bytes, attributes: Mapping[str, int | str]) -> None:
        """Add a point with the value and times in `content`, which are fields of `NumberDataPoint`."""
        parts = [content]
        for key, value in attributes.items():
            kept = _ATTRIBUTES.get(key)
            if kept is None:
                kept = _ATTRIBUTES[key] = Attribute(key, _POINT_ATTRIBUTES)
            parts.append(kept[value])
        metric.points.append(field(1, b"".join(parts)))
        self.points += 1


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
