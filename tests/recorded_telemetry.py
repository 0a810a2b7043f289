"""A recorder that a test calls, and the spans and points that it has written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opentelemetry.proto.metrics.v1 import metrics_pb2
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from emulator.messages.message import Message
from emulator.telemetry.context import TraceContext
from emulator.telemetry.otlp_files import read_records
from emulator.telemetry.recorder import Recorder
from trellis.v1.pubsub import Notification, Pull

START = 1_700_000_000 * 10**9


def recorder(directory: Path, host: str = "h1", **fields: Any) -> Recorder:
    given = {"experiment": "e", "trial": "t-1", "seed": 1, "start_unix_ns": START}
    return Recorder(directory, host, **(given | fields))


def read(attributes: Any) -> dict[str, Any]:
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in attributes}


def spans(directory: Path) -> list[Span]:
    return [
        span
        for path in sorted(directory.glob("*-traces-*.otlp"))
        for record in read_records(path)
        for resource in TracesData.FromString(record).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def points(directory: Path) -> dict[str, list[tuple[dict[str, Any], float]]]:
    """Return metric -> (attributes, value) of each point."""
    found: dict[str, list[tuple[dict[str, Any], float]]] = {}
    for path in sorted(directory.glob("*-metrics-*.otlp")):
        for record in read_records(path):
            for resource in metrics_pb2.MetricsData.FromString(record).resource_metrics:
                for metric in resource.scope_metrics[0].metrics:
                    data = metric.sum if metric.HasField("sum") else metric.gauge
                    found.setdefault(metric.name, []).extend(
                        (read(p.attributes), p.as_int if p.HasField("as_int") else p.as_double)
                        for p in data.data_points
                    )
    return found


def begin(
    recorder: Recorder,
    operation: str,
    peer: int,
    at_ns: int,
    attributes: Mapping[str, int | bool],
    topic: int | None = None,
    event: int = -1,
) -> TraceContext:
    context = recorder.begin(topic, event)
    recorder.operation(context, operation, peer, at_ns, attributes)
    return context


def hop(
    recorder: Recorder, context: TraceContext, message: Message | None = None, **fields: Any
) -> TraceContext:
    inner = TraceContext(
        context.trace_id, recorder.next_span_id(), context.depth + 1, context.topic, context.event
    )
    given: dict[str, Any] = {
        "message": message or Notification(8, 7, 3, 1),
        "channel": "",
        "sender": 3,
        "peer": 4,
        "sent_ns": 10,
        "handled_ns": 20,
        "interested": True,
        "delivered": None,
    }
    recorder.hop(inner, context.span_id, **(given | fields))
    return inner


def sent(recorder: Recorder, peer: int, traced: bool, size: int, channel: str = "") -> None:
    """Count a message of this size."""
    tallies = recorder.tallies
    tallies.on(channel).tally(Pull(1), traced).add(tallies.place(peer), 1, size)
