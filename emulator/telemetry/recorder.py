"""The recorder of a running trial's spans and metrics, the same for every runtime."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from emulator.contract.protocol import Completion, Component, Event, Lookup, Outcome
from emulator.experiment.run.telemetry_totals import Written
from emulator.messages.message import EVENT, KINDS, NOTIFICATION, Message
from emulator.telemetry import names, span_encoding
from emulator.telemetry.context import TraceContext
from emulator.telemetry.failures import FailureStatus
from emulator.telemetry.message_counts import Subject, Tallies
from emulator.telemetry.metric_batch import MetricBatch, add_gauges, add_links, where
from emulator.telemetry.observation import Observation
from emulator.telemetry.otlp_files import FileSink, Sink

_SCOPE = "trellis"
_INTERNAL, _PRODUCER, _CONSUMER = 1, 4, 5
_SPANS_IN_RECORD = 250
_POINTS_IN_RECORD = 250

_PEER, _SENDER, _DEPTH, _BYTES, _TOPIC, _HOPS, _EVENT = map(
    span_encoding.Attribute,
    (names.PEER, names.SENDER, names.DEPTH, names.BYTES, names.TOPIC, names.HOPS, names.EVENT),
)
_FAILURES = FailureStatus()
_CHANNEL = span_encoding.Attribute(names.CHANNEL)
_KIND = tuple(span_encoding.span_attribute(names.MESSAGE_KIND, kind) for kind in KINDS)
_IS_DELIVERED = span_encoding.span_attribute(names.DELIVERED, True)
_IS_INTERESTED, _IS_NOT_INTERESTED = (
    span_encoding.span_attribute(names.INTERESTED, v) for v in (True, False)
)

SinkFactory = Callable[[Path], Sink]


class Recorder:
    """Writes one host's spans and metrics. All times are in ns of trial time.

    Identifiers of traces and spans follow from seed, host and order alone, so that the same run gives the
    same bytes.
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

        `incarnation` distinguishes the starts of one host within a trial.
        """
        attributes: dict[str, int | str] = {
            names.SERVICE: "trellis",
            names.HOST: host,
            names.EXPERIMENT: experiment,
            names.TRIAL: trial,
            names.INCARNATION: incarnation,
            names.START: start_unix_ns,
        }
        self._resource = span_encoding.resource(attributes)
        self._start = start_unix_ns
        self._host = host
        self._incarnation = incarnation
        self._closed = False
        self._traces = sink(directory / f"{host}-traces-{incarnation}.otlp")
        self._metrics = sink(directory / f"{host}-metrics-{incarnation}.otlp")
        self._spans: list[bytes] = []
        self._handed_over = 0
        identity = hashlib.sha256(f"{seed}/{host}/{incarnation}".encode()).digest()
        self._span_ids = (int.from_bytes(identity[:4], "big") | 1) << 32
        self._trace_prefix = identity[4:12]
        self._traces_begun = 0
        self.tallies = Tallies()
        """The counts of what the host's peers sent, which the runtime adds to."""
        self.lost = Tallies()
        """The counts of what the network lost of that, all at place 0."""
        self._identifiers: list[tuple[int, int, str, int, str]] = []
        self._units: dict[str, str] = {}
        """The unit of each observation's name."""

    @property
    def lost_spans(self) -> int:
        """The number of spans that were recorded but could not be kept."""
        return self._traces.lost

    def written(self) -> Written:
        """Return what has been written so far, which is everything once the recorder is closed."""
        traces, metrics = self._traces, self._metrics
        return Written(
            self._host, self._incarnation, traces.kept, metrics.kept, traces.lost, metrics.lost, self._closed
        )

    @property
    def unsettled_spans(self) -> int:
        """The number of spans of which it is not known yet whether they are kept."""
        return len(self._spans) + self._handed_over - self._traces.kept - self._traces.lost

    def next_span_id(self) -> int:
        self._span_ids += 1
        return self._span_ids

    def begin(self, topic: int | None = None, event: int = -1, at_ns: int = -1) -> TraceContext:
        """Begin an operation; messages sent in its context are its children. `operation` records it.

        `event` is the number of the publication that the operation is, -1 for another operation; `at_ns` is
        the time at which a peer was asked for the operation, -1 if none was.
        """
        self._traces_begun += 1
        trace_id = self._trace_prefix + struct.pack(">Q", self._traces_begun)
        return TraceContext(trace_id, self.next_span_id(), 0, topic, event, at_ns)

    def operation(
        self,
        context: TraceContext,
        operation: str,
        peer: int,
        at_ns: int,
        attributes: Mapping[str, int | bool],
    ) -> None:
        """Record the root span of an operation at `peer`."""
        attribute = span_encoding.span_attribute
        parts = [attribute(names.PEER, peer)]
        if context.topic is not None:
            parts.append(attribute(names.TOPIC, context.topic))
        parts.extend(attribute(key, value) for key, value in attributes.items())
        name = span_encoding.name_and_kind(operation, _PRODUCER if operation == "publish" else _INTERNAL)
        at = self._start + at_ns
        self._keep(span_encoding.span(context.trace_id, context.span_id, 0, name, at, at, parts))

    def delivery(self, context: TraceContext | None, peer: int, at_ns: int, outcome: Outcome) -> None:
        """Record an outcome that the application at `peer` got where no message's span can be marked.

        Without an operation's `context` the span is the root of a trace of its own.
        """
        parent = 0 if context is None else context.span_id
        context = self.begin() if context is None else context
        span_id = context.span_id if not parent else self.next_span_id()
        attributes = [_PEER[peer], _outcome(outcome)]
        name = span_encoding.name_and_kind(names.DELIVERY, _INTERNAL)
        at = self._start + at_ns
        self._keep(span_encoding.span(context.trace_id, span_id, parent, name, at, at, attributes))

    def observation(
        self,
        context: TraceContext | None,
        peer: int,
        session: int,
        channel: str,
        at_ns: int,
        observed: Observation,
    ) -> None:
        """Record an observation of a component of `peer` in the operation of `context`, or in none.

        Without a context the span is the root of a trace of its own. The span of a message that was lost,
        dropped or stopped has the status ERROR. Raises ValueError for a name that was recorded with another
        unit.
        """
        unit = self._units.setdefault(observed.name, observed.unit)
        if unit != observed.unit:
            text = "One name has one unit: use two names, or convert the value"
            raise ValueError(f'its unit is "{observed.unit}", and was "{unit}" before. {text}')
        parent = 0 if context is None else context.span_id
        context = self.begin() if context is None else context
        span_id = self.next_span_id() if parent else context.span_id
        attribute = span_encoding.span_attribute
        parts = [_PEER[peer], attribute(names.SESSION, session), attribute(names.OBSERVED, observed.name)]
        if channel:
            parts.append(_CHANNEL[channel])
        if observed.value is not None:
            parts.append(attribute(names.VALUE, observed.value))
        if observed.subject is not None:
            parts.append(attribute(names.SUBJECT, observed.subject))
        if observed.unit:
            parts.append(attribute(names.UNIT, observed.unit))
        if failed := _FAILURES[observed.name]:
            parts.append(failed)
        name = span_encoding.name_and_kind(names.OBSERVATION, _INTERNAL)
        at = self._start + at_ns
        self._keep(span_encoding.span(context.trace_id, span_id, parent, name, at, at, parts))

    def hop(
        self,
        context: TraceContext,
        parent: int,
        message: Message,
        channel: str,
        sender: int,
        peer: int,
        sent_ns: int,
        handled_ns: int,
        interested: bool,
        delivered: Outcome | None,
    ) -> None:
        """Record the span of a message that `peer` handled.

        `context` is the receiver's (its span id and depth are this span's), `parent` is the span that sent
        the message, and `delivered` is the first outcome that the application got while the message was
        handled.
        """
        kind = message.kind()
        attributes = [
            _PEER[peer], _SENDER[sender], _DEPTH[context.depth], _BYTES[message.byte_size()], _KIND[kind]
        ]  # fmt: skip
        if channel:
            attributes.append(_CHANNEL[channel])
        if context.topic is not None:
            attributes.append(_TOPIC[context.topic])
            attributes.append(_IS_INTERESTED if interested else _IS_NOT_INTERESTED)
        if delivered is not None:
            attributes.append(_outcome(delivered))
        elif kind in (EVENT, NOTIFICATION):
            event = message.event_number()
            if event >= 0 and event != context.event:
                attributes.append(_EVENT[event])
            travelled = message.travelled()
            if travelled >= 0:
                attributes.append(_HOPS[travelled])
        self._keep(
            span_encoding.span(
                context.trace_id,
                context.span_id,
                parent,
                span_encoding.name_and_kind(message.NAME, _CONSUMER),
                self._start + sent_ns,
                self._start + handled_ns,
                attributes,
            )
        )

    def take_identifier(self, peer: int, channel: str, at_ns: int, identifier: int, space: str) -> None:
        """Record that the peer has this identifier from now on; `space` names the metric."""
        self._identifiers.append((at_ns, peer, channel, identifier, space))
        if len(self._identifiers) >= _POINTS_IN_RECORD:
            self._write_identifiers()

    def write_interval(self, at_ns: int, peers_up: int, dropped_envelopes: int) -> None:
        """Write the metrics of the whole host, and the identifiers that peers took since the last call."""
        self._write_identifiers()
        totals = self.tallies.totals()
        batch = self._batch(at_ns)
        for index, name in enumerate((names.SENT_MESSAGES, names.SENT_BYTES)):
            for subject, total in totals:
                batch.add_sum(name, total[index], _message_attributes(subject))
        for subject, (messages, size) in self.lost.totals():
            batch.add_sum(names.LOST_MESSAGES, messages, _message_attributes(subject))
            batch.add_sum(names.LOST_BYTES, size, _message_attributes(subject))
        batch.add_sum(names.LOST_SPANS, self.lost_spans, {})
        batch.add_sum(names.DROPPED, dropped_envelopes, {})
        batch.add_gauge(names.PEERS_UP, peers_up, {})
        self._write_points(batch)

    def write_snapshot(
        self, at_ns: int, peers: Iterable[tuple[int, Sequence[tuple[str, Component]]]]
    ) -> Iterator[None]:
        """Write counters, states and links of peers: (peer, its components by channel).

        Each step of the iterator writes one record; a runtime that must not stand still takes one step at a
        time.
        """
        batch = self._batch(at_ns)
        for peer, subject, (messages, size) in self.tallies.by_peer():
            attributes = {names.PEER: peer} | _message_attributes(subject)
            batch.add_sum(names.PEER_SENT_MESSAGES, messages, attributes)
            batch.add_sum(names.PEER_SENT_BYTES, size, attributes)
            if batch.points >= _POINTS_IN_RECORD:
                self._write_points(batch)
                yield
                batch = self._batch(at_ns)
        for peer, components in peers:
            for channel, component in components:
                of = where(peer, channel)
                add_gauges(batch, names.STATE, component, of)
                add_links(batch, component, of)
            if batch.points >= _POINTS_IN_RECORD:
                self._write_points(batch)
                yield
                batch = self._batch(at_ns)
        self._write_points(batch)
        yield

    def write_samples(
        self, at_ns: int, peers: Iterable[tuple[int, Sequence[tuple[str, Component]]]]
    ) -> Iterator[None]:
        """Write the sampled gauges of peers: (peer, its components with such gauges by channel).

        Each step of the iterator writes one record, if there is anything to write.
        """
        batch = self._batch(at_ns)
        for peer, components in peers:
            for channel, component in components:
                add_gauges(batch, names.SAMPLE, component, where(peer, channel), sampled=True)
            if batch.points >= _POINTS_IN_RECORD:
                self._write_points(batch)
                yield
                batch = self._batch(at_ns)
        if batch.points:
            self._write_points(batch)
            yield

    def flush(self) -> None:
        """Write the spans and identifiers that are not written yet."""
        self._write_identifiers()
        if self._spans:
            spans, self._spans = self._spans, []
            self._handed_over += len(spans)
            self._traces.write(span_encoding.traces_data(self._resource, _SCOPE, spans), len(spans))

    def close(self) -> None:
        """Write the rest and close both files. Raises OSError if anything could not be written."""
        try:
            self.flush()
        finally:
            try:
                self._traces.close()
            finally:
                self._metrics.close()
                self._closed = True

    def _keep(self, span: bytes) -> None:
        self._spans.append(span)
        if len(self._spans) >= _SPANS_IN_RECORD:
            self.flush()

    def _write_identifiers(self) -> None:
        if not self._identifiers:
            return
        batch = self._batch(0)
        for at_ns, peer, channel, identifier, space in self._identifiers:
            batch.at_ns = at_ns
            attributes = where(peer, channel) | {names.IDENTIFIER: f"{identifier:x}", names.SPACE: space}
            batch.add_gauge(names.TAKEN_IDENTIFIER, 1, attributes)
        self._identifiers.clear()
        self._write_points(batch)

    def _write_points(self, batch: MetricBatch) -> None:
        self._metrics.write(batch.encode(), batch.points)

    def _batch(self, at_ns: int) -> MetricBatch:
        return MetricBatch(self._resource, _SCOPE, self._start, at_ns)


def _message_attributes(sent: Subject) -> dict[str, int | str]:
    attributes: dict[str, int | str] = {names.MESSAGE_TYPE: sent.message, names.MESSAGE_KIND: sent.kind}
    if sent.channel:
        attributes[names.CHANNEL] = sent.channel
    return attributes | {names.TRAFFIC: "operation" if sent.traced else "maintenance"}


def _outcome(outcome: Outcome) -> bytes:
    """Return the attributes that mark a delivery."""
    attributes = _IS_DELIVERED + _HOPS[outcome.hops]
    if isinstance(outcome, Event):
        attributes += _EVENT[outcome.number]
    elif isinstance(outcome, Lookup):
        attributes += span_encoding.span_attribute(names.LOOKUP, outcome.number)
    elif isinstance(outcome, Completion):
        attributes += span_encoding.span_attribute(names.OPERATION, outcome.operation)
        attributes += span_encoding.span_attribute(names.NUMBER, outcome.number)
        if outcome.value is not None:
            attributes += span_encoding.span_attribute(names.VALUE, float(outcome.value))
    return attributes
