"""The recorder: one host's spans and metrics in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.metrics.v1 import metrics_pb2
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from emulator.protocol import Component, Contact
from emulator.telemetry import names
from emulator.telemetry.context import TraceContext
from emulator.telemetry.otlp import read_records
from emulator.telemetry.recorder import Recorder

START = 1_700_000_000 * 10**9


class Gauged(Component):
    def __init__(self, **gauges: float) -> None:
        self._gauges = gauges

    def start(self, bootstrap: Sequence[Contact]) -> None: ...

    def stop(self, graceful: bool) -> None: ...

    def gauges(self) -> dict[str, float]:
        return self._gauges


class FullSink:
    """A disk that takes nothing."""

    def __init__(self, path: Path) -> None:
        self.lost_spans = 0

    def write(self, message: bytes, spans: int) -> None:
        self.lost_spans += spans

    def close(self) -> None:
        raise OSError("disk full")


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
    """Metric -> (attributes, value) of each point."""
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
    **fields: Any,
) -> TraceContext:
    context = recorder.begin(topic)
    recorder.operation(context, operation, peer, at_ns, attributes, **fields)
    return context


def hop(recorder: Recorder, context: TraceContext, **fields: Any) -> TraceContext:
    inner = TraceContext(context.trace_id, recorder.next_span_id(), context.depth + 1, context.topic)
    given: dict[str, Any] = {
        "message_type": "Notification",
        "sender": 3,
        "peer": 4,
        "sent_ns": 10,
        "handled_ns": 20,
        "size": 99,
        "interested": True,
        "delivered_hops": None,
    }
    recorder.hop(inner, context.span_id, **(given | fields))
    return inner


def sent(recorder: Recorder, peer: int, traced: bool, size: int) -> None:
    """Count a message of this size."""
    counter = recorder.counter(peer, "Pull", traced)
    counter[0] += 1
    counter[1] += size


def test_an_operation_and_its_messages_make_one_trace(tmp_path: Path) -> None:
    tested = recorder(tmp_path)
    root = begin(tested, "publish", 3, 5, {names.EVENT: 8, names.INTERESTED: True}, topic=7)
    inner = hop(tested, root)
    hop(tested, inner, message_type="EventData", interested=False, delivered_hops=2)
    tested.close()
    publish, notification, data = spans(tmp_path)
    assert publish.trace_id == notification.trace_id == data.trace_id
    assert (publish.parent_span_id, notification.parent_span_id) == (b"", publish.span_id)
    assert data.parent_span_id == notification.span_id
    assert [s.kind for s in (publish, notification)] == [Span.SPAN_KIND_PRODUCER, Span.SPAN_KIND_CONSUMER]
    assert [s.name for s in (publish, notification, data)] == ["publish", "Notification", "EventData"]
    assert publish.start_time_unix_nano == publish.end_time_unix_nano == START + 5
    assert (notification.start_time_unix_nano, notification.end_time_unix_nano) == (START + 10, START + 20)
    assert read(publish.attributes) == {
        names.PEER: 3,
        names.TOPIC: 7,
        names.EVENT: 8,
        names.INTERESTED: True,
    }
    common = {names.PEER: 4, names.SENDER: 3, names.BYTES: 99, names.TOPIC: 7}
    assert read(notification.attributes) == common | {names.DEPTH: 1, names.INTERESTED: True}
    assert read(data.attributes) == common | {
        names.DEPTH: 2,
        names.INTERESTED: False,
        names.DELIVERED: True,
        names.HOPS: 2,
    }


def test_an_operation_without_topic_says_nothing_of_topics(tmp_path: Path) -> None:
    tested = recorder(tmp_path)
    hop(tested, begin(tested, "join", 0, 5, {names.SESSION: 0}))
    tested.close()
    assert all(not {names.TOPIC, names.INTERESTED} & read(span.attributes).keys() for span in spans(tmp_path))


def test_topic_and_peer_zero_are_told(tmp_path: Path) -> None:
    tested = recorder(tmp_path)
    hop(tested, begin(tested, "publish", 0, 0, {}, topic=0), sender=0, peer=0)
    tested.close()
    for span in spans(tmp_path):
        assert (read(span.attributes)[names.TOPIC], read(span.attributes)[names.PEER]) == (0, 0)


def test_a_delivery_without_a_hop_is_told(tmp_path: Path) -> None:
    tested = recorder(tmp_path)
    hop(tested, begin(tested, "publish", 1, 0, {}, topic=7), delivered_hops=0)
    tested.close()
    attributes = read(spans(tmp_path)[1].attributes)
    assert (attributes[names.DELIVERED], attributes[names.HOPS]) == (True, 0)


def test_what_ends_where_it_began_is_told_on_the_root(tmp_path: Path) -> None:
    tested = recorder(tmp_path)
    begin(tested, "lookup", 3, 5, {names.LOOKUP: 8}, delivered_hops=0)
    tested.close()
    (root,) = spans(tmp_path)
    assert read(root.attributes) == {
        names.PEER: 3,
        names.LOOKUP: 8,
        names.DELIVERED: True,
        names.HOPS: 0,
    }
    assert root.kind == Span.SPAN_KIND_INTERNAL


def test_a_later_call_that_delivers_is_a_span_below_the_one_that_asked_for_it(tmp_path: Path) -> None:
    tested = recorder(tmp_path)
    inner = hop(tested, begin(tested, "lookup", 3, 5, {}))
    tested.timer(inner, 4, 30, delivered_hops=2)
    tested.close()
    _, asked, timer = spans(tmp_path)
    assert (timer.name, timer.kind) == ("timer", Span.SPAN_KIND_INTERNAL)
    assert (timer.trace_id, timer.parent_span_id) == (asked.trace_id, asked.span_id)
    assert timer.span_id not in (asked.span_id, b"")
    assert timer.start_time_unix_nano == timer.end_time_unix_nano == START + 30
    assert read(timer.attributes) == {names.PEER: 4, names.DELIVERED: True, names.HOPS: 2}


def test_ids_are_distinct_between_spans_hosts_and_starts(tmp_path: Path) -> None:
    for host, incarnation in (("a", 0), ("b", 0), ("a", 1)):
        tested = recorder(tmp_path, host, incarnation=incarnation)
        for _ in range(100):
            hop(tested, begin(tested, "publish", 1, 0, {}))
        tested.close()
    found = spans(tmp_path)
    assert len({span.span_id for span in found}) == len(found) == 600
    assert len({span.trace_id for span in found}) == 300
    assert all(len(span.trace_id) == 16 and any(span.trace_id) and any(span.span_id) for span in found)


def test_the_same_calls_make_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        tested = recorder(tmp_path / name)
        hop(tested, begin(tested, "publish", 1, 0, {}, 7))
        tested.write_interval(5, 3, 0)
        tested.close()
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_files_are_named_by_host_signal_and_start(tmp_path: Path) -> None:
    recorder(tmp_path / "new", "h7", incarnation=2).close()
    assert {p.name for p in (tmp_path / "new").iterdir()} == {"h7-traces-2.otlp", "h7-metrics-2.otlp"}
    with pytest.raises(FileExistsError):
        recorder(tmp_path / "new", "h7", incarnation=2)


def test_many_spans_are_written_in_several_records_and_none_is_lost(tmp_path: Path) -> None:
    tested = recorder(tmp_path)
    for _ in range(4500):
        begin(tested, "publish", 1, 0, {})
    tested.close()
    records = [TracesData.FromString(r) for r in read_records(tmp_path / "h1-traces-0.otlp")]
    assert len(records) == 18
    assert len(spans(tmp_path)) == 4500
    for record in records:
        assert read(record.resource_spans[0].resource.attributes) == {
            names.SERVICE: "trellis",
            names.HOST: "h1",
            names.EXPERIMENT: "e",
            names.TRIAL: "t-1",
            names.INCARNATION: 0,
            names.START: START,
        }


def test_an_interval_tells_the_totals_of_the_host(tmp_path: Path) -> None:
    tested = recorder(tmp_path)
    sent(tested, 1, True, 10)
    sent(tested, 2, True, 30)
    sent(tested, 2, False, 7)
    counter = tested.counter(2, "Goodbye", traced=False)
    counter[0] += 3
    counter[1] += 6
    tested.write_interval(5, peers_up=9, dropped_envelopes=4)
    tested.close()
    found = points(tmp_path)

    def by_type(metric: str) -> dict[tuple[str, str], float]:
        return {(a[names.MESSAGE_TYPE], a[names.TRAFFIC]): value for a, value in found[metric]}

    assert by_type(names.SENT_MESSAGES) == {
        ("Pull", "operation"): 2,
        ("Pull", "maintenance"): 1,
        ("Goodbye", "maintenance"): 3,
    }
    assert by_type(names.SENT_BYTES) == {
        ("Pull", "operation"): 40,
        ("Pull", "maintenance"): 7,
        ("Goodbye", "maintenance"): 6,
    }
    assert found[names.PEERS_UP] == [({}, 9)]
    assert found[names.DROPPED] == [({}, 4)]
    assert found[names.LOST_SPANS] == [({}, 0)]


def test_a_snapshot_tells_counters_states_and_links_of_each_peer(tmp_path: Path) -> None:
    tested = recorder(tmp_path)
    sent(tested, 1, True, 10)
    tested.counter(1, "Goodbye", traced=False)
    links: Mapping[str, Sequence[int]] = {"friend": [2, 5], "successor": [2], "predecessor": []}
    assert list(tested.write_snapshot(5, [(1, Gauged(utility=0.5), links), (2, Gauged(), {})]))
    tested.close()
    found = points(tmp_path)
    counted = {names.PEER: 1, names.MESSAGE_TYPE: "Pull", names.TRAFFIC: "operation"}
    assert found[names.PEER_SENT_MESSAGES] == [(counted, 1)]
    assert found[names.PEER_SENT_BYTES] == [(counted, 10)]
    assert found[names.STATE + "utility"] == [({names.PEER: 1}, 0.5)]
    assert [(a[names.PEER], a[names.NEIGHBOUR], a[names.KIND], v) for a, v in found[names.LINK]] == [
        (1, 2, "friend", 1),
        (1, 5, "friend", 1),
        (1, 2, "successor", 1),
    ]


def test_a_large_snapshot_is_split_and_whole(tmp_path: Path) -> None:
    tested = recorder(tmp_path)
    peers = [(peer, Gauged(a=peer), {"friend": list(range(10))}) for peer in range(5000)]
    assert list(tested.write_snapshot(5, peers))
    tested.close()
    assert len(list(read_records(tmp_path / "h1-metrics-0.otlp"))) > 1
    found = points(tmp_path)
    assert [value for _, value in found[names.STATE + "a"]] == [float(peer) for peer in range(5000)]
    assert len(found[names.LINK]) == 50_000


def test_lost_spans_are_told_and_the_error_is_raised_at_the_end(tmp_path: Path) -> None:
    tested = recorder(tmp_path, sink=FullSink)
    for _ in range(2500):
        begin(tested, "publish", 1, 0, {})
    tested.flush()
    assert tested.lost_spans == 2500
    with pytest.raises(OSError, match="disk full"):
        tested.close()
