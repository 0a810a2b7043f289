"""The recorder: one host's spans and metrics in files."""

from __future__ import annotations

from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData
from recorded_telemetry import START, begin, hop, read, recorder, spans

from emulator.contract.protocol import Event, Installation, Lookup, Outcome
from emulator.messages.message import Message
from emulator.telemetry import names
from emulator.telemetry.otlp_files import read_records
from trellis.v1.content import EventContent, EventDelivery, ProbePub
from trellis.v1.overlay import LookupRequest, Routed
from trellis.v1.pubsub import EventData, Notification
from trellis.v1.scribe import Multicast, RootAddress


class FullSink:
    """A disk that takes nothing."""

    def __init__(self, path: Path) -> None:
        self.kept = 0
        self.lost = 0

    def write(self, message: bytes, count: int) -> None:
        self.lost += count

    def close(self) -> None:
        raise OSError("disk full")


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


def test_lost_spans_are_told_and_the_error_is_raised_at_the_end(tmp_path: Path) -> None:
    tested = recorder(tmp_path, sink=FullSink)
    for _ in range(2500):
        begin(tested, "publish", 1, 0, {})
    tested.flush()
    assert tested.lost_spans == 2500
    with pytest.raises(OSError, match="disk full"):
        tested.close()
