"""The recorder: one host's spans and metrics in files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.metrics.v1 import metrics_pb2
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from emulator.contract.protocol import Component, Event, Installation, Lookup, Outcome
from emulator.messages.message import Message
from emulator.telemetry import names
from emulator.telemetry.context import TraceContext
from emulator.telemetry.otlp_files import read_records
from emulator.telemetry.recorder import Recorder
from trellis.v1.content import EventContent, EventDelivery, ProbePub
from trellis.v1.overlay import Goodbye, LookupRequest, Routed
from trellis.v1.pubsub import EventData, Notification, Pull
from trellis.v1.scribe import Multicast, RootAddress

START = 1_700_000_000 * 10**9


class Part(Component):
    """A component that tells gauges and links."""

    def __init__(
        self, gauges: Mapping[str, float] | None = None, links: Mapping[str, Sequence[int]] | None = None
    ) -> None:
        self._gauges = dict(gauges or {})
        self._links = links or {}

    def start(self, contacts: Sequence[int]) -> None: ...

    def stop(self, graceful: bool) -> None: ...

    def gauges(self) -> dict[str, float]:
        return self._gauges

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return self._links


class FullSink:
    """A disk that takes nothing."""

    def __init__(self, path: Path) -> None:
        self.kept = 0
        self.lost = 0

    def write(self, message: bytes, count: int) -> None:
        self.lost += count

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


def test_an_operation_and_its_messages_make_one_trace(tmp_path: Path) -> None:
    tested = recorder(tmp_path)
    root = begin(tested, "publish", 3, 5, {names.EVENT: 8, names.INTERESTED: True}, topic=7, event=8)
    word, copy = Notification(8, 7, 3, 1), EventData(8, 7, 3, 2, b"x")
    inner = hop(tested, root, word, channel="overlay")
    hop(tested, inner, copy, interested=False, delivered=Event(8, 3, 7, hops=2))
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
    common = {names.PEER: 4, names.SENDER: 3, names.TOPIC: 7}
    assert read(notification.attributes) == common | {
        names.DEPTH: 1,
        names.BYTES: word.byte_size(),
        names.MESSAGE_KIND: "notification",
        names.CHANNEL: "overlay",
        names.INTERESTED: True,
        names.HOPS: 1,
    }
    assert read(data.attributes) == common | {
        names.DEPTH: 2,
        names.BYTES: copy.byte_size(),
        names.MESSAGE_KIND: "event",
        names.INTERESTED: False,
        names.DELIVERED: True,
        names.HOPS: 2,
        names.EVENT: 8,
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


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (Event(0, 1, 7, hops=0), {names.HOPS: 0, names.EVENT: 0}),
        (Lookup(5, 1, 99, hops=3), {names.HOPS: 3, names.LOOKUP: 5}),
        (Installation(1, hops=2), {names.HOPS: 2}),
    ],
)
def test_a_delivery_is_told_with_its_hops_and_its_number(
    outcome: Outcome, told: dict[str, int], tmp_path: Path
) -> None:
    tested = recorder(tmp_path)
    hop(tested, begin(tested, "join", 1, 0, {}), LookupRequest(5), delivered=outcome)
    tested.close()
    attributes = read(spans(tmp_path)[1].attributes)
    of_delivery = (names.DELIVERED, names.HOPS, names.EVENT, names.LOOKUP)
    assert {key: attributes[key] for key in of_delivery if key in attributes} == told | {
        names.DELIVERED: True
    }


def test_a_message_names_its_event_where_its_trace_is_about_another_one_or_none(tmp_path: Path) -> None:
    tested = recorder(tmp_path)
    publish = begin(tested, "publish", 3, 5, {}, topic=7, event=8)
    recovery = begin(tested, names.RECOVERY, 3, 6, {}, topic=7)
    for context in (publish, recovery):
        for number in (8, 9):
            hop(tested, context, EventData(number, 7, 3, 2))
    hop(tested, recovery, RootAddress(9))
    tested.close()
    told = [read(span.attributes).get(names.EVENT) for span in spans(tmp_path)[2:]]
    assert told == [None, 9, 8, 9, None]


def test_a_routed_copy_tells_its_event_and_the_hops_that_it_made_in_all(tmp_path: Path) -> None:
    tested = recorder(tmp_path)
    routed = Routed(1, None, 3, EventData(9, 7, 3, 2))
    hop(tested, begin(tested, names.RECOVERY, 3, 6, {}), routed)
    tested.close()
    attributes = read(spans(tmp_path)[1].attributes)
    assert (attributes[names.EVENT], attributes[names.HOPS]) == (9, 5)
    assert attributes[names.MESSAGE_KIND] == "event"


@pytest.mark.parametrize(
    "copy",
    [
        Multicast(EventData(9, 7, 3, 5)),
        ProbePub(EventContent(9, 3), 0, 1, 5),
        Routed(1, None, 4, EventDelivery(EventContent(9, 3), [1], 1)),
    ],
)
def test_a_copy_that_carries_its_event_in_a_part_tells_it_too(tmp_path: Path, copy: Message) -> None:
    tested = recorder(tmp_path)
    hop(tested, begin(tested, names.RECOVERY, 3, 6, {}), copy)
    tested.close()
    attributes = read(spans(tmp_path)[1].attributes)
    assert (attributes[names.EVENT], attributes[names.HOPS]) == (9, 5)


def test_a_delivery_without_a_message_is_a_span_below_the_operation_that_is_handled(tmp_path: Path) -> None:
    tested = recorder(tmp_path)
    inner = hop(tested, begin(tested, "lookup", 3, 5, {}))
    tested.delivery(inner, 4, 30, Lookup(6, 3, 99, hops=2))
    tested.close()
    _, asked, delivery = spans(tmp_path)
    assert (delivery.name, delivery.kind) == (names.DELIVERY, Span.SPAN_KIND_INTERNAL)
    assert (delivery.trace_id, delivery.parent_span_id) == (asked.trace_id, asked.span_id)
    assert delivery.span_id not in (asked.span_id, b"")
    assert delivery.start_time_unix_nano == delivery.end_time_unix_nano == START + 30
    assert read(delivery.attributes) == {
        names.PEER: 4,
        names.DELIVERED: True,
        names.HOPS: 2,
        names.LOOKUP: 6,
    }


def test_a_delivery_in_no_operation_is_a_trace_of_its_own(tmp_path: Path) -> None:
    tested = recorder(tmp_path)
    for number in (6, 7):
        tested.delivery(None, 4, 30, Event(number, 3, hops=2))
    tested.close()
    found = spans(tmp_path)
    assert [(span.name, span.parent_span_id) for span in found] == [(names.DELIVERY, b"")] * 2
    assert found[0].trace_id != found[1].trace_id
    assert [read(span.attributes)[names.EVENT] for span in found] == [6, 7]


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


def test_an_interval_tells_the_totals_of_the_host_by_message_channel_and_traffic(tmp_path: Path) -> None:
    tested = recorder(tmp_path)
    sent(tested, 1, True, 10)
    sent(tested, 2, True, 30)
    sent(tested, 2, False, 7)
    sent(tested, 2, False, 8, channel="overlay")
    tested.tallies.on("").tally(Goodbye(), traced=False).add(tested.tallies.place(2), 3, 6)
    tested.write_interval(5, peers_up=9, dropped_envelopes=4)
    tested.close()
    found = points(tmp_path)

    def by_type(metric: str) -> dict[tuple[str, ...], float]:
        keys = (names.MESSAGE_TYPE, names.MESSAGE_KIND, names.CHANNEL, names.TRAFFIC)
        return {tuple(a.get(key, "") for key in keys): value for a, value in found[metric]}

    assert by_type(names.SENT_MESSAGES) == {
        ("Pull", "notification", "", "operation"): 2,
        ("Pull", "notification", "", "maintenance"): 1,
        ("Pull", "notification", "overlay", "maintenance"): 1,
        ("Goodbye", "maintenance", "", "maintenance"): 3,
    }
    assert by_type(names.SENT_BYTES) == {
        ("Pull", "notification", "", "operation"): 40,
        ("Pull", "notification", "", "maintenance"): 7,
        ("Pull", "notification", "overlay", "maintenance"): 8,
        ("Goodbye", "maintenance", "", "maintenance"): 6,
    }
    assert found[names.PEERS_UP] == [({}, 9)]
    assert found[names.DROPPED] == [({}, 4)]
    assert found[names.LOST_SPANS] == [({}, 0)]


def test_a_snapshot_tells_counters_states_and_links_of_each_peer_by_channel(tmp_path: Path) -> None:
    tested = recorder(tmp_path)
    sent(tested, 1, True, 10, channel="overlay")
    tested.tallies.on("").tally(Goodbye(), traced=False)
    links: Mapping[str, Sequence[int]] = {"friend": [2, 5], "successor": [2], "predecessor": []}
    components = [("overlay", Part({"links": 3.0}, links)), ("", Part({"utility": 0.5}))]
    assert list(tested.write_snapshot(5, [(1, components), (2, [("", Part())])]))
    tested.close()
    found = points(tmp_path)
    at_overlay = {names.PEER: 1, names.CHANNEL: "overlay"}
    counted = {
        names.MESSAGE_TYPE: "Pull",
        names.MESSAGE_KIND: "notification",
        names.TRAFFIC: "operation",
    } | at_overlay
    assert found[names.PEER_SENT_MESSAGES] == [(counted, 1)]
    assert found[names.PEER_SENT_BYTES] == [(counted, 10)]
    assert found[names.STATE + "utility"] == [({names.PEER: 1}, 0.5)]
    assert found[names.STATE + "links"] == [(at_overlay, 3.0)]
    assert found[names.LINK] == [
        (at_overlay | {names.NEIGHBOUR: other, names.KIND: kind}, 1)
        for other, kind in ((2, "friend"), (5, "friend"), (2, "successor"))
    ]


def test_identifiers_are_told_with_the_time_at_which_they_were_taken(tmp_path: Path) -> None:
    tested = recorder(tmp_path)
    for number in range(600):
        tested.take_identifier(number, "overlay", number, number << 100, "ring")
    tested.take_identifier(0, "", 7_000, 255, "xor")
    tested.close()
    found = points(tmp_path)[names.TAKEN_IDENTIFIER]
    assert len(found) == 601
    assert found[5] == (
        {
            names.PEER: 5,
            names.CHANNEL: "overlay",
            names.IDENTIFIER: f"{5 << 100:x}",
            names.SPACE: "ring",
        },
        1,
    )
    assert found[-1] == ({names.PEER: 0, names.IDENTIFIER: "ff", names.SPACE: "xor"}, 1)
    times = [
        point.time_unix_nano - START
        for record in read_records(tmp_path / "h1-metrics-0.otlp")
        for metric in metrics_pb2.MetricsData.FromString(record).resource_metrics[0].scope_metrics[0].metrics
        for point in metric.gauge.data_points
    ]
    assert times == [*range(600), 7_000]


def test_a_large_snapshot_is_split_and_whole(tmp_path: Path) -> None:
    tested = recorder(tmp_path)
    peers = [(peer, [("", Part({"a": peer}, {"friend": list(range(10))}))]) for peer in range(5000)]
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
