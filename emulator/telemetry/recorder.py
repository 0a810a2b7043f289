"""Spans and metrics out of a running trial, the same for every runtime."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from opentelemetry.proto.metrics.v1 import metrics_pb2
from opentelemetry.proto.resource.v1 import resource_pb2

from emulator.protocol import Component
from emulator.telemetry import encoding, names
from emulator.telemetry.context import TraceContext
from emulator.telemetry.otlp import FileSink, Sink

_SCOPE = "trellis"
_INTERNAL, _PRODUCER, _CONSUMER = 1, 4, 5
_SPANS_IN_RECORD = 250
_POINTS_IN_RECORD = 250
_CUMULATIVE = metrics_pb2.AGGREGATION_TEMPORALITY_CUMULATIVE

_PEER, _SENDER, _DEPTH, _BYTES, _TOPIC, _HOPS = map(
    encoding.Attribute, (names.PEER, names.SENDER, names.DEPTH, names.BYTES, names.TOPIC, names.HOPS)
)
_IS_DELIVERED = encoding.span_attribute(names.DELIVERED, True)
_IS_INTERESTED, _IS_NOT_INTERESTED = (encoding.span_attribute(names.INTERESTED, v) for v in (True, False))

SinkFactory = Callable[[Path], Sink]


class Recorder:
    """Writes one host's spans and metrics; all times are given in ns of trial time.

    Identifiers of traces and spans follow from seed, host and order alone, so that the same
    run gives the same bytes.
    """

    def __init__(
        self,
        directory: Path,
        host: str,
        *,
        experiment: str,
        trial: str,
        seed: int,
        start_unix_ns: int,
        sink: SinkFactory = FileSink,
        incarnation: int = 0,
    ) -> None:
        """Create the host's two files in `directory`. Raises FileExistsError if they are there.

        `incarnation` tells the starts of one host within a trial apart.
        """
        attributes: dict[str, int | str] = {
            names.SERVICE: "trellis",
            names.HOST: host,
            names.EXPERIMENT: experiment,
            names.TRIAL: trial,
            names.INCARNATION: incarnation,
            names.START: start_unix_ns,
        }
        self._resource = encoding.resource(attributes)
        self._start = start_unix_ns
        self._traces = sink(directory / f"{host}-traces-{incarnation}.otlp")
        self._metrics = sink(directory / f"{host}-metrics-{incarnation}.otlp")
        self._spans: list[bytes] = []
        identity = hashlib.sha256(f"{seed}/{host}/{incarnation}".encode()).digest()
        self._span_ids = (int.from_bytes(identity[:4], "big") | 1) << 32
        self._trace_prefix = identity[4:12]
        self._traces_begun = 0
        self._sent: dict[tuple[int, str, bool], list[int]] = {}

    @property
    def lost_spans(self) -> int:
        """Spans that were recorded but could not be kept."""
        return self._traces.lost_spans

    def next_span_id(self) -> int:
        self._span_ids += 1
        return self._span_ids

    def begin(self, topic: int | None = None) -> TraceContext:
        """Begin an operation; messages sent in its context are its children. `operation` records it."""
        self._traces_begun += 1
        trace_id = self._trace_prefix + struct.pack(">Q", self._traces_begun)
        return TraceContext(trace_id, self.next_span_id(), 0, topic)

    def operation(
        self,
        context: TraceContext,
        operation: str,
        peer: int,
        at_ns: int,
        attributes: Mapping[str, int | bool],
        delivered_hops: int | None = None,
    ) -> None:
        """Record the root span of an operation at `peer`.

        `delivered_hops` are the overlay hops to where it ended, if it ended without a message: a lookup
        at the peer that asked, a subscription that is stored at its subscriber.
        """
        attribute = encoding.span_attribute
        parts = [attribute(names.PEER, peer)]
        if context.topic is not None:
            parts.append(attribute(names.TOPIC, context.topic))
        parts.extend(attribute(key, value) for key, value in attributes.items())
        if delivered_hops is not None:
            parts += attribute(names.DELIVERED, True), attribute(names.HOPS, delivered_hops)
        name = encoding.name_and_kind(operation, _PRODUCER if operation == "publish" else _INTERNAL)
        at = self._start + at_ns
        self._keep(encoding.span(context.trace_id, context.span_id, 0, name, at, at, b"".join(parts)))

    def timer(self, context: TraceContext, peer: int, at_ns: int, delivered_hops: int) -> None:
        """Record a later call, asked for in `context`, that delivered something without a message."""
        attribute = encoding.span_attribute
        attributes = (
            attribute(names.PEER, peer)
            + attribute(names.DELIVERED, True)
            + attribute(names.HOPS, delivered_hops)
        )
        name = encoding.name_and_kind("timer", _INTERNAL)
        at = self._start + at_ns
        self._keep(
            encoding.span(context.trace_id, self.next_span_id(), context.span_id, name, at, at, attributes)
        )

    def hop(
        self,
        context: TraceContext,
        parent: int,
        message_type: str,
        sender: int,
        peer: int,
        sent_ns: int,
        handled_ns: int,
        size: int,
        interested: bool,
        delivered_hops: int | None,
    ) -> None:
        """Record the span of a message that `peer` handled.

        `context` is the receiver's (its span id and depth are this span's), `parent` the span that
        sent the message, `size` the encoded message in bytes, `delivered_hops` the overlay hops of
        the event if handling the message delivered one.
        """
        attributes = _PEER[peer] + _SENDER[sender] + _DEPTH[context.depth] + _BYTES[size]
        if context.topic is not None:
            attributes += _TOPIC[context.topic] + (_IS_INTERESTED if interested else _IS_NOT_INTERESTED)
        if delivered_hops is not None:
            attributes += _IS_DELIVERED + _HOPS[delivered_hops]
        self._keep(
            encoding.span(
                context.trace_id,
                context.span_id,
                parent,
                encoding.name_and_kind(message_type, _CONSUMER),
                self._start + sent_ns,
                self._start + handled_ns,
                attributes,
            )
        )

    def counter(self, peer: int, message_type: str, traced: bool) -> list[int]:
        """[messages, bytes] that `peer` sent so far of this type; the runtime counts in it."""
        return self._sent.setdefault((peer, message_type, traced), [0, 0])

    def write_interval(self, at_ns: int, peers_up: int, dropped_envelopes: int) -> None:
        """Write the metrics of the whole host."""
        totals: dict[tuple[str, bool], list[int]] = {}
        for (_, message_type, traced), (messages, size) in self._sent.items():
            total = totals.setdefault((message_type, traced), [0, 0])
            total[0] += messages
            total[1] += size
        batch = self._batch(at_ns)
        for index, name in enumerate((names.SENT_MESSAGES, names.SENT_BYTES)):
            for (message_type, traced), total in sorted(totals.items()):
                batch.add_sum(name, total[index], _message_attributes(message_type, traced))
        batch.add_sum(names.LOST_SPANS, self.lost_spans, {})
        batch.add_sum(names.DROPPED, dropped_envelopes, {})
        batch.add_gauge(names.PEERS_UP, peers_up, {})
        self._metrics.write(batch.encode(), 0)

    def write_snapshot(
        self, at_ns: int, peers: Iterable[tuple[int, Component, Mapping[str, Sequence[int]]]]
    ) -> Iterator[None]:
        """Write counters, states and links of peers: (peer, protocol, neighbours by kind).

        Each step of the iterator writes one record; a runtime that must not stand still takes them
        one at a time.
        """
        batch = self._batch(at_ns)
        for (peer, message_type, traced), counter in sorted(self._sent.items()):
            if not counter[0]:
                continue
            attributes = {names.PEER: peer} | _message_attributes(message_type, traced)
            for name, value in zip((names.PEER_SENT_MESSAGES, names.PEER_SENT_BYTES), counter, strict=True):
                batch.add_sum(name, value, attributes)
            if batch.points >= _POINTS_IN_RECORD:
                self._metrics.write(batch.encode(), 0)
                yield
                batch = self._batch(at_ns)
        for peer, component, neighbours in peers:
            for gauge, state in component.gauges().items():
                batch.add_gauge(names.STATE + gauge, state, {names.PEER: peer})
            for kind, others in neighbours.items():
                for other in others:
                    link: dict[str, int | str] = {names.PEER: peer, names.NEIGHBOUR: other, names.KIND: kind}
                    batch.add_gauge(names.LINK, 1, link)
            if batch.points >= _POINTS_IN_RECORD:
                self._metrics.write(batch.encode(), 0)
                yield
                batch = self._batch(at_ns)
        self._metrics.write(batch.encode(), 0)
        yield

    def flush(self) -> None:
        """Write the spans that are not written yet."""
        if self._spans:
            spans, self._spans = self._spans, []
            self._traces.write(encoding.traces_data(self._resource, _SCOPE, spans), len(spans))

    def close(self) -> None:
        """Raises OSError if anything could not be written."""
        try:
            self.flush()
        finally:
            try:
                self._traces.close()
            finally:
                self._metrics.close()

    def _keep(self, span: bytes) -> None:
        self._spans.append(span)
        if len(self._spans) >= _SPANS_IN_RECORD:
            self.flush()

    def _batch(self, at_ns: int) -> _MetricBatch:
        return _MetricBatch(self._resource, self._start, at_ns)


def _message_attributes(message_type: str, traced: bool) -> dict[str, int | str]:
    return {names.MESSAGE_TYPE: message_type, names.TRAFFIC: "operation" if traced else "maintenance"}


class _MetricBatch:
    """Collects points of one time into a `MetricsData` message."""

    def __init__(self, resource: bytes, start_unix_ns: int, at_ns: int) -> None:
        self.at_ns = at_ns
        self.points = 0
        self._start = start_unix_ns
        self._data = metrics_pb2.MetricsData()
        resource_metrics = self._data.resource_metrics.add(
            resource=resource_pb2.Resource.FromString(resource)
        )
        self._scope = resource_metrics.scope_metrics.add()
        self._scope.scope.name = _SCOPE
        self._by_name: dict[str, metrics_pb2.Metric] = {}

    def add_sum(self, name: str, value: int, attributes: Mapping[str, int | str]) -> None:
        metric = self._metric(name)
        metric.sum.aggregation_temporality = _CUMULATIVE
        metric.sum.is_monotonic = True
        point = metric.sum.data_points.add(start_time_unix_nano=self._start, as_int=value)
        self._finish(point, attributes)

    def add_gauge(self, name: str, value: float, attributes: Mapping[str, int | str]) -> None:
        self._finish(self._metric(name).gauge.data_points.add(as_double=value), attributes)

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
