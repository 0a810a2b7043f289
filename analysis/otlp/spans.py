"""The spans and data points of OTLP messages as Arrow columns."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from analysis.otlp.columns import BYTES, FIXED64, Buffer, Field, Rows, submessages
from analysis.otlp.notes import LOSS, TALLY, Tally
from emulator.telemetry import names

SPANS = pa.schema(
    [
        ("trial", pa.string()),
        ("host", pa.string()),
        ("incarnation", pa.int32()),  # of the host
        ("trace", pa.binary()),
        ("span", pa.int64()),
        ("parent", pa.int64()),  # null at a root
        ("message", pa.string()),  # the span's name
        ("sent_ns", pa.int64()),  # trial time
        ("handled_ns", pa.int64()),
        ("peer", pa.int32()),
        ("sender", pa.int32()),
        ("depth", pa.int32()),
        ("topic", pa.int32()),
        ("interested", pa.bool_()),
        ("delivered", pa.bool_()),
        ("hops", pa.int32()),
        ("bytes", pa.int32()),
        ("event", pa.int32()),
        ("lookup", pa.int32()),
        ("interest", pa.int32()),
        ("session", pa.int32()),
        ("graceful", pa.bool_()),
        ("kind", pa.string()),  # of the message
        ("channel", pa.string()),  # null at the root channel
        ("number", pa.int64()),  # of an operation of a package's kind, and of its completion
        ("completed", pa.string()),  # the operation's name, of its completion alone
        ("observed", pa.string()),  # an observation's name, null of all other spans
        ("value", pa.float64()),  # of an observation or a completion; null if it was not measured
        ("subject", pa.int64()),  # of an observation, like the next one
        ("unit", pa.string()),
        ("loss", LOSS),  # what could not be read; the other columns but `trial` are null then
        ("tally", TALLY),  # how many spans of one start of a host were read; the others are null then
    ]
)
POINTS = pa.schema(
    [
        ("trial", pa.string()),
        ("host", pa.string()),
        ("incarnation", pa.int32()),  # of the host: each has its own counters
        ("name", pa.string()),
        ("at_ns", pa.int64()),  # trial time
        ("value", pa.float64()),
        ("peer", pa.int32()),
        ("neighbour", pa.int32()),
        ("kind", pa.string()),  # of the link, or of the message
        ("message", pa.string()),
        ("traffic", pa.string()),
        ("channel", pa.string()),  # null at the root channel
        ("identifier", pa.string()),  # hexadecimal
        ("space", pa.string()),
        ("unit", pa.string()),  # this and the next two: what a component declares of its gauge
        ("text", pa.string()),
        ("better", pa.string()),
        ("loss", LOSS),
        ("tally", TALLY),
    ]
)
_NOTES = ("loss", "tally")
_ATTRIBUTES = {
    names.PEER: "peer",
    names.SENDER: "sender",
    names.DEPTH: "depth",
    names.TOPIC: "topic",
    names.INTERESTED: "interested",
    names.DELIVERED: "delivered",
    names.HOPS: "hops",
    names.BYTES: "bytes",
    names.EVENT: "event",
    names.LOOKUP: "lookup",
    names.INTEREST: "interest",
    names.SESSION: "session",
    names.GRACEFUL: "graceful",
    names.NEIGHBOUR: "neighbour",
    names.KIND: "kind",
    names.MESSAGE_KIND: "kind",
    names.CHANNEL: "channel",
    names.IDENTIFIER: "identifier",
    names.SPACE: "space",
    names.MESSAGE_TYPE: "message",
    names.TRAFFIC: "traffic",
    names.NUMBER: "number",
    names.OPERATION: "completed",
    names.OBSERVED: "observed",
    names.VALUE: "value",
    names.SUBJECT: "subject",
    names.UNIT: "unit",
}
# Fields of Span, NumberDataPoint, AnyValue and Metric (opentelemetry/proto/{trace,metrics,common}/v1).
_TRACE_ID, _SPAN_ID, _PARENT, _NAME, _START, _END, _SPAN_ATTRIBUTES = 1, 2, 4, 5, 7, 8, 9
_TIME, _DOUBLE, _INTEGER, _POINT_ATTRIBUTES = 3, 4, 6, 7
_STRING_VALUE, _DOUBLE_VALUE, _GAUGE, _SUM = 1, 4, 5, 7
_TOLD_BY_METRICS = {1: "name", 2: "text", 3: "unit"}
_METADATA = 12


@dataclass(slots=True)
class _Column:
    """Values as they are found, row by row."""

    values: npt.NDArray[np.int64]
    known: npt.NDArray[np.bool_]
    words: list[str] = field(default_factory=list)
    """The texts that the codes of a text column stand for."""

    @classmethod
    def empty(cls, rows: int) -> _Column:
        return cls(np.zeros(rows, np.int64), np.zeros(rows, np.bool_))

    def set(self, rows: Rows, values: npt.NDArray[np.int64]) -> None:
        self.values[rows] = values
        self.known[rows] = True

    def set_word(self, rows: Rows, word: str) -> None:
        if word not in self.words:
            self.words.append(word)
        self.values[rows] = self.words.index(word)
        self.known[rows] = True

    def set_texts(self, rows: Rows, texts: list[str]) -> None:
        """Set texts that are nearly all different."""
        self.values[rows] = np.arange(len(self.words), len(self.words) + len(texts))
        self.known[rows] = True
        self.words += texts

    def array(self, kind: pa.DataType) -> pa.Array:
        unknown = None if self.known.all() else ~self.known
        if kind == pa.string():
            codes = pa.array(self.values.astype(np.int32), mask=unknown)
            return pa.DictionaryArray.from_arrays(codes, pa.array(self.words, pa.string())).cast(kind)
        if kind == pa.float64():
            return pa.array(self.values.view(np.float64), mask=unknown)
        if kind == pa.bool_():
            return pa.array(self.values != 0, mask=unknown)
        return pa.array(self.values.astype(kind.to_pandas_dtype()), kind, mask=unknown)


class _Columns:
    """The columns of one batch under construction."""

    def __init__(self, buffer: Buffer, schema: pa.Schema, rows: int) -> None:
        self.buffer = buffer
        self.schema = schema
        self.rows = rows
        self._columns = {name: _Column.empty(rows) for name in schema.names if name not in _NOTES}

    def __getitem__(self, name: str) -> _Column:
        return self._columns[name]

    def set_attributes(self, found: Field) -> None:
        """Take the attributes of a repeated `KeyValue` field, except those with names that are not ours."""
        for key, which, value in self.buffer.attributes(found.values, found.lengths):
            column = self._columns.get(_ATTRIBUTES.get(key, ""))
            if column is None:
                continue
            rows = found.rows[which]
            if key == names.IDENTIFIER and value.number == _STRING_VALUE:
                column.set_texts(rows[value.rows], self.buffer.texts(value))
            elif value.number == _STRING_VALUE:
                self.set_words(column, rows[value.rows], value)
            elif key == names.VALUE:
                if value.number != _DOUBLE_VALUE:
                    raise ValueError(f"{key} is not a number with a fraction")
                column.set(rows[value.rows], self.buffer.words(value.values).view(np.int64))
            elif value.number == _DOUBLE_VALUE:
                raise ValueError(f"{key} is not a whole number")
            else:
                column.set(rows[value.rows], value.values)

    def set_words(self, column: _Column, rows: Rows, found: Field) -> None:
        for word, which in self.buffer.distinct(found.values, found.lengths):
            column.set_word(rows[which], word.decode())

    def set_resources(self, resources: list[tuple[Resource, int]], times: tuple[str, ...]) -> None:
        """Set trial, host and incarnation of rows in sequence, and make unix times trial times."""
        first = 0
        for resource, count in resources:
            rows = np.arange(first, first + count)
            first += count
            attributes = {a.key: a.value for a in resource.attributes}
            self["host"].set_word(rows, attributes[names.HOST].string_value)
            self["trial"].set_word(rows, attributes[names.TRIAL].string_value)
            if names.INCARNATION in attributes:
                incarnation = attributes[names.INCARNATION].int_value
                self["incarnation"].set(rows, np.full(count, incarnation, np.int64))
            for name in times:
                self[name].values[rows] -= attributes[names.START].int_value

    def batch(self, **ready: pa.Array) -> pa.RecordBatch:
        fields = [f for f in self.schema if f.name not in _NOTES]
        arrays = [ready[f.name] if f.name in ready else self[f.name].array(f.type) for f in fields]
        notes = [pa.nulls(self.rows, LOSS), pa.nulls(self.rows, TALLY)]
        return pa.RecordBatch.from_arrays([*arrays, *notes], schema=self.schema)


@lru_cache(maxsize=64)
def _resource(encoded: bytes) -> Resource:
    try:
        resource = Resource.FromString(encoded)
    except DecodeError as error:
        raise ValueError(f"a damaged resource: {error}") from error
    missing = {names.HOST, names.TRIAL, names.START} - {a.key for a in resource.attributes}
    if missing:
        raise ValueError(f"the resource lacks {', '.join(sorted(missing))}")
    return resource


def _scopes(data: bytes) -> list[tuple[Resource, list[tuple[int, int]]]]:
    """Return the resource and (offset, length) of each scope's message, of `TracesData` or `MetricsData`."""
    found = []
    for _, offset, length in submessages(data, 0, len(data)):
        encoded = b""
        scopes = []
        for number, inner, inner_length in submessages(data, offset, offset + length):
            if number == 1:
                encoded = data[inner : inner + inner_length]
            elif number == 2:
                scopes.append((inner, inner_length))
        found.append((_resource(encoded), scopes))
    return found


def decode_spans(
    data: bytes, trial: str = "", tally: Tally | None = None, attribute: bytes = b""
) -> pa.RecordBatch:
    """Return the spans of one or more `TracesData` messages, one after the other: a batch of `SPANS`.

    They are added to the tally. Spans in which the name `attribute` does not occur are left out. Raises
    ValueError if the data is malformed, or of another trial than the one named.
    """
    offsets: list[int] = []
    lengths: list[int] = []
    resources = []
    for resource, scopes in _scopes(data):
        before = len(offsets)
        for start, size in scopes:
            for number, offset, length in submessages(data, start, start + size):
                if number == 2 and data.find(attribute, offset, offset + length) >= 0:
                    offsets.append(offset)
                    lengths.append(length)
        resources.append((resource, len(offsets) - before))
    buffer = Buffer(data)
    columns = _Columns(buffer, SPANS, len(offsets))
    traces = np.zeros((len(offsets), 2), np.uint64)
    scalar = {_START: "sent_ns", _END: "handled_ns"}
    for found in buffer.fields(np.array(offsets, np.int64), np.array(lengths, np.int64)):
        if found.number == _SPAN_ATTRIBUTES:
            columns.set_attributes(found)
        elif found.number == _NAME and found.wire_type == BYTES:
            columns.set_words(columns["message"], found.rows, found)
        elif found.number in scalar and found.wire_type == FIXED64:
            columns[scalar[found.number]].set(found.rows, buffer.words(found.values).view(np.int64))
        elif found.number == _TRACE_ID and found.wire_type == BYTES:
            _require(found, 16)
            traces[found.rows, 0] = buffer.words(found.values)
            traces[found.rows, 1] = buffer.words(found.values + 8)
        elif found.number in (_SPAN_ID, _PARENT) and found.wire_type == BYTES:
            name = "span" if found.number == _SPAN_ID else "parent"
            present = found.lengths > 0
            found = Field(
                found.number, BYTES, found.rows[present], found.values[present], found.lengths[present]
            )
            _require(found, 8)
            columns[name].set(found.rows, buffer.words(found.values).view(np.int64))
    columns.set_resources(resources, ("sent_ns", "handled_ns"))
    _count(resources, trial, tally)
    ends = pa.array(np.arange(len(offsets) + 1, dtype=np.int32) * 16)
    trace = pa.Array.from_buffers(
        pa.binary(), len(offsets), [None, ends.buffers()[1], pa.py_buffer(traces.astype("<u8").tobytes())]
    )
    return columns.batch(trace=trace)


def _count(resources: list[tuple[Resource, int]], trial: str, tally: Tally | None) -> None:
    """Add the rows of each resource, if all are of the trial."""
    found: Tally = Counter()
    for resource, count in resources:
        attributes = {a.key: a.value for a in resource.attributes}
        if trial and (told := attributes[names.TRIAL].string_value) != trial:
            raise ValueError(f"it is of the trial {told}")
        start = attributes[names.INCARNATION].int_value if names.INCARNATION in attributes else 0
        found[attributes[names.HOST].string_value, start] += count
    if tally is not None:
        tally.update(found)


def _require(found: Field, length: int) -> None:
    if (found.lengths != length).any():
        raise ValueError(f"an identifier is not {length} bytes long")


def decode_points(
    data: bytes, trial: str = "", tally: Tally | None = None, metric: str = ""
) -> pa.RecordBatch:
    """Return the number data points of one or more `MetricsData` messages: a batch of `POINTS`.

    They are added to the tally. Units and texts are those of gauges of components. With `metric`, points of
    other metrics are added to the tally alone. Raises ValueError as `decode_spans` does.
    """
    offsets: list[int] = []
    lengths: list[int] = []
    resources, skipped = [], []
    metrics: list[tuple[dict[str, str], int, int]] = []
    for resource, scopes in _scopes(data):
        before = len(offsets)
        for start, size in scopes:
            for number, offset, length in submessages(data, start, start + size):
                if number == 2:
                    first = len(offsets)
                    told: dict[str, str] = {}
                    for part, inner, inner_length in submessages(data, offset, offset + length):
                        if part in _TOLD_BY_METRICS:
                            told[_TOLD_BY_METRICS[part]] = data[inner : inner + inner_length].decode()
                        elif part == _METADATA:
                            told |= _metadata(data[inner : inner + inner_length])
                        elif part in (_GAUGE, _SUM):
                            for kind, point, point_length in submessages(data, inner, inner + inner_length):
                                if kind == 1:
                                    offsets.append(point)
                                    lengths.append(point_length)
                    if metric and told.get("name") != metric:
                        skipped.append((resource, len(offsets) - first))
                        del offsets[first:], lengths[first:]
                        continue
                    if not told.get("name", "").startswith((names.STATE, names.SAMPLE)):
                        told = {column: word for column, word in told.items() if column == "name"}
                    metrics.append((told, first, len(offsets)))
        resources.append((resource, len(offsets) - before))
    buffer = Buffer(data)
    columns = _Columns(buffer, POINTS, len(offsets))
    for told, first, end in metrics:
        for column, word in told.items():
            columns[column].set_word(np.arange(first, end), word)
    for found in buffer.fields(np.array(offsets, np.int64), np.array(lengths, np.int64)):
        if found.number == _POINT_ATTRIBUTES:
            columns.set_attributes(found)
        elif found.number == _TIME and found.wire_type == FIXED64:
            columns["at_ns"].set(found.rows, buffer.words(found.values).view(np.int64))
        elif found.number == _DOUBLE and found.wire_type == FIXED64:
            columns["value"].set(found.rows, buffer.words(found.values).view(np.int64))
        elif found.number == _INTEGER and found.wire_type == FIXED64:
            whole = buffer.words(found.values).view(np.int64)
            columns["value"].set(found.rows, whole.astype(np.float64).view(np.int64))
    columns.set_resources(resources, ("at_ns",))
    _count([*resources, *skipped], trial, tally)
    return columns.batch()


def _metadata(data: bytes) -> dict[str, str]:
    """Return what the metadata of a gauge's metric says, by our names."""
    try:
        found = KeyValue.FromString(data)
    except DecodeError as error:
        raise ValueError(f"damaged metadata: {error}") from error
    return {"better": found.value.string_value} if found.key == names.BETTER else {}
