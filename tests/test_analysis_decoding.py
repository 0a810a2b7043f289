"""Spans and data points decoded by columns are those that OpenTelemetry's own classes wrote."""

from __future__ import annotations

import contextlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from analysis_golden import START, Host
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status, TracesData

from analysis.otlp.notes import Tally
from analysis.otlp.spans import decode_points, decode_spans
from emulator.telemetry import names
from emulator.telemetry.otlp_files import read_records

INTEGERS = {
    names.PEER: "peer",
    names.SENDER: "sender",
    names.DEPTH: "depth",
    names.TOPIC: "topic",
    names.HOPS: "hops",
    names.BYTES: "bytes",
    names.EVENT: "event",
    names.LOOKUP: "lookup",
    names.INTEREST: "interest",
    names.SESSION: "session",
    names.SUBJECT: "subject",
    names.NUMBER: "number",
}
FLAGS = {names.INTERESTED: "interested", names.DELIVERED: "delivered", names.GRACEFUL: "graceful"}
WORDS = {
    names.MESSAGE_KIND: "kind",
    names.CHANNEL: "channel",
    names.OBSERVED: "observed",
    names.OPERATION: "completed",
    names.UNIT: "unit",
}
FRACTIONS = {names.VALUE: "value"}

attributes = st.dictionaries(
    st.sampled_from([*INTEGERS, *FLAGS, *WORDS, *FRACTIONS, "someone.else", "x" * 40]),
    st.integers(-(2**31), 2**31 - 1),
).flatmap(lambda chosen: st.permutations(list(chosen.items())))
times = st.integers(START, START + 10**15)
spans = st.tuples(
    st.binary(min_size=16, max_size=16),
    st.binary(min_size=8, max_size=8),
    st.one_of(st.just(b""), st.binary(min_size=8, max_size=8)),
    st.sampled_from(["publish", "EventData", "ä" * 50, "X"]),
    times,
    times,
    attributes,
)


def key_value(key: str, number: int) -> KeyValue:
    if key in FLAGS:
        return KeyValue(key=key, value=AnyValue(bool_value=number > 0))
    if key in INTEGERS:
        return KeyValue(key=key, value=AnyValue(int_value=number))
    if key in FRACTIONS:
        return KeyValue(key=key, value=AnyValue(double_value=number / 3))
    return KeyValue(key=key, value=AnyValue(string_value=str(number)))


def fill_resource(resource: Any, host: str) -> None:
    for key, value in ((names.HOST, host), (names.TRIAL, "vitis-1")):
        resource.attributes.add(key=key).value.string_value = value
    resource.attributes.add(key=names.START).value.int_value = START
    resource.attributes.add(key=names.INCARNATION).value.int_value = 2


def messages(found: list[Any], host: str) -> TracesData:
    data = TracesData()
    resource_spans = data.resource_spans.add()
    fill_resource(resource_spans.resource, host)
    scope = resource_spans.scope_spans.add()
    for trace, span, parent, name, start, end, pairs in found:
        scope.spans.append(
            Span(
                trace_id=trace,
                span_id=span,
                parent_span_id=parent,
                trace_state="a=b" if pairs else "",
                name=name,
                kind=Span.SPAN_KIND_CONSUMER,
                start_time_unix_nano=start,
                end_time_unix_nano=end,
                attributes=[key_value(k, v) for k, v in pairs],
                flags=257,
                status=Status(code=Status.STATUS_CODE_ERROR, message=name) if parent else None,
                links=[Span.Link(trace_id=trace, span_id=span)] if pairs else [],
            )
        )
    return data


def expected_row(span: Any, host: str) -> dict[str, Any]:
    trace, identifier, parent, name, start, end, pairs = span
    row = dict.fromkeys([*INTEGERS.values(), *FLAGS.values(), *WORDS.values(), *FRACTIONS.values()], None) | {
        "host": host,
        "incarnation": 2,
        "trace": trace,
        "span": int.from_bytes(identifier, "little", signed=True),
        "parent": int.from_bytes(parent, "little", signed=True) if parent else None,
        "message": name,
        "sent_ns": start - START,
        "handled_ns": end - START,
        "trial": "vitis-1",
        "loss": None,
        "tally": None,
    }
    for key, number in pairs:
        if key in INTEGERS:
            row[INTEGERS[key]] = number
        elif key in FLAGS:
            row[FLAGS[key]] = number > 0
        elif key in WORDS:
            row[WORDS[key]] = str(number)
        elif key in FRACTIONS:
            row[FRACTIONS[key]] = number / 3
    return row


@settings(max_examples=60, deadline=None)
@given(st.lists(spans, max_size=8), st.lists(spans, max_size=8))
def test_any_spans_are_decoded_as_they_were_written(first: list[Any], second: list[Any]) -> None:
    data = messages(first, "a").SerializeToString() + messages(second, "b").SerializeToString()
    expected = [expected_row(s, "a") for s in first] + [expected_row(s, "b") for s in second]
    assert decode_spans(data).to_pylist() == expected


@settings(max_examples=60, deadline=None)
@given(st.lists(spans, max_size=8), st.lists(spans, max_size=8))
def test_only_spans_with_the_attribute_that_is_asked_for_are_decoded(
    first: list[Any], second: list[Any]
) -> None:
    data = messages(first, "a").SerializeToString() + messages(second, "b").SerializeToString()
    observations = [
        expected_row(span, host)
        for host, some in (("a", first), ("b", second))
        for span in some
        if names.OBSERVED in dict(span[6])
    ]
    assert decode_spans(data, attribute=names.OBSERVED.encode()).to_pylist() == observations


@settings(max_examples=100, deadline=None)
@given(st.lists(spans, min_size=1, max_size=3), st.data())
def test_damaged_spans_are_refused_or_decoded_but_never_crash(found: list[Any], data: st.DataObject) -> None:
    encoded = bytearray(messages(found, "a").SerializeToString())
    for _ in range(data.draw(st.integers(1, 4))):
        encoded[data.draw(st.integers(0, len(encoded) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ValueError):
        decode_spans(bytes(encoded[: data.draw(st.integers(0, len(encoded)))]))


def test_points_of_the_recorder_are_decoded(tmp_path: Path) -> None:
    host = Host(tmp_path)
    host.maintain(3, 2)
    host.interval(5.0, peers_up=4)
    host.snapshot(6.0, {3: [1]})
    for peer in range(300):
        host.take(peer, 7.0 + peer, peer << 240, "xor", channel="overlay/second")
    host.recorder.close()
    (file,) = tmp_path.glob("*-metrics-*")
    encoded = list(read_records(file))
    rows = decode_points(b"".join(encoded)).to_pylist()
    points = sum(
        len(metric.gauge.data_points) + len(metric.sum.data_points)
        for data in map(MetricsData.FromString, encoded)
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    )
    assert len(rows) == points
    by_name = {row["name"]: row for row in rows}
    assert by_name[names.PEERS_UP]["value"] == 4.0
    assert by_name[names.SENT_BYTES]["at_ns"] == 5 * 10**9
    sent = by_name[names.PEER_SENT_BYTES]
    told = (sent["peer"], sent["value"], sent["message"], sent["kind"], sent["channel"], sent["traffic"])
    assert told == (3, 20.0, "TManExchange", "maintenance", "overlay", "maintenance")
    link = by_name[names.LINK]
    assert (link["peer"], link["channel"], link["neighbour"], link["kind"]) == (3, "overlay", 1, "friend")
    assert all(
        by_name[name][told] is None for name in (names.SENT_BYTES, names.LINK) for told in ("unit", "text")
    )
    gauge = by_name[names.STATE + "gateway_topics"]
    assert (gauge["peer"], gauge["channel"], gauge["value"]) == (3, None, 1.0)
    taken = [row for row in rows if row["name"] == names.TAKEN_IDENTIFIER]
    assert [(row["peer"], row["at_ns"] // 10**9, int(row["identifier"], 16)) for row in taken] == [
        (peer, 7 + peer, peer << 240) for peer in range(300)
    ]
    assert {(row["channel"], row["space"]) for row in taken} == {("overlay/second", "xor")}
    tallies: list[Tally] = [Counter(), Counter()]
    decode_points(b"".join(encoded), tally=tallies[0])
    of_metric = decode_points(b"".join(encoded), tally=tallies[1], metric=names.TAKEN_IDENTIFIER)
    assert of_metric.to_pylist() == taken
    assert sum(tallies[0].values()) == points and tallies[1] == tallies[0], "those left out are counted"


def backwards(message: Message) -> bytes:
    """Encode the message with the last field first, as the Collector does."""
    parts = []
    for field, value in reversed(message.ListFields()):
        for each in value if field.is_repeated else [value]:
            if isinstance(each, Message):
                content = backwards(each)
                parts.append(bytes([field.number << 3 | 2]) + _varint(len(content)) + content)
            else:
                alone = type(message)()
                if field.is_repeated:
                    getattr(alone, field.name).append(each)
                else:
                    setattr(alone, field.name, each)
                parts.append(alone.SerializeToString())
    return b"".join(parts)


def _varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + _varint(rest) if rest else bytes([low])


@settings(max_examples=30, deadline=None)
@given(st.lists(spans, min_size=1, max_size=4))
def test_the_order_of_fields_does_not_matter(found: list[Any]) -> None:
    data = messages(found, "host-1")
    turned = backwards(data)
    assert TracesData.FromString(turned) == data
    assert decode_spans(turned).to_pylist() == decode_spans(data.SerializeToString()).to_pylist()


def test_resource_without_a_trial_is_refused() -> None:
    data = TracesData()
    data.resource_spans.add().scope_spans.add().spans.add(name="publish")
    with pytest.raises(ValueError, match="the resource lacks"):
        decode_spans(data.SerializeToString())
