"""The export of spans and metrics to an OpenTelemetry Collector by OTLP/gRPC, from a thread of its own.

A recorder's message is sent as it is: `TracesData` and `ExportTraceServiceRequest` are the same on the wire,
and so are those of metrics. A reader of what the Collector wrote must expect a message twice, because a
Collector that dies after writing it and before answering gets it again.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import grpc
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from emulator.files.input_facts import counted
from emulator.telemetry.endpoint import open_channel
from emulator.telemetry.otlp_files import Sink
from emulator.telemetry.recorder import SinkFactory
from emulator.trust.credentials import Certificates, bearer

METHODS = {
    "traces": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "metrics": "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
}
"""The gRPC method of each signal."""
_CONTENT = {"traces": "span", "metrics": "data point"}
_OPTIONS = (("grpc.initial_reconnect_backoff_ms", 250), ("grpc.max_reconnect_backoff_ms", 3000))
"""The options of the channel. By default, gRPC waits for up to two minutes before it retries a Collector."""
_PASSING = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.ABORTED,
    grpc.StatusCode.CANCELLED,
)
"""The gRPC codes after which OTLP lets a sender try again."""
_QUEUED_BYTES = 8 << 20
_DEADLINE = 20.0
"""The seconds that the Collector has to answer one request."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 4.0
"""The seconds of the first and of the longest pause between attempts; each is twice the one before."""
_PATIENCE = 120.0
"""The seconds after which a message that the Collector keeps refusing is given up for those behind it."""
_CLOSING = 30.0
"""The seconds that `close` waits for what is still queued."""


class ExportError(OSError):
    """The Collector did not take everything."""


@dataclass(frozen=True, slots=True)
class Exporter:
    """The sinks of a recorder that exports to a Collector: `Recorder(..., sink=Exporter(endpoint))`."""

    endpoint: str
    """The address of the Collector, http://HOST:PORT or https://HOST:PORT."""
    closing: float = _CLOSING
    """The seconds that closing a sink may take."""
    hold: float = 0.0
    """The seconds that a message waits in an idle sink, so that not all hosts send at the same moment."""
    ticket: str = field(default="", repr=False)
    """The ticket that each request shows; see `emulator/trust/tickets.py`."""
    certificates: Certificates | None = None
    """The certificates for an endpoint https://..., if it is the release's own."""

    def __call__(self, path: Path) -> GrpcSink:
        """Return the sink in the place of the file `<host>-<signal>-<start>.otlp`, which is not written.

        Raises BadEndpoint.
        """
        return GrpcSink(
            self.endpoint,
            path.stem.split("-")[-2],
            closing=self.closing,
            hold=self.hold,
            ticket=self.ticket,
            certificates=self.certificates,
        )


def admitted(sink: SinkFactory, ticket: str) -> SinkFactory:
    """Return the sinks for a trial for which the coordinator gave this ticket; sinks to files need none."""
    return replace(sink, ticket=ticket) if isinstance(sink, Exporter) else sink


class GrpcSink(Sink):
    """Sends each message in a background thread, through a queue of at most `queued_bytes`.

    A Collector that is away or overloaded is asked again for `patience` seconds. Messages that find the queue
    full, are refused for good, given up, or left at the end are counted in `lost`.
    """

    def __init__(
        self,
        endpoint: str,
        signal: str,
        *,
        closing: float = _CLOSING,
        patience: float = _PATIENCE,
        queued_bytes: int = _QUEUED_BYTES,
        hold: float = 0.0,
        ticket: str = "",
        certificates: Certificates | None = None,
    ) -> None:
        """`signal` is "traces" or "metrics". Raises BadEndpoint."""
        self._signal = signal
        self._endpoint = endpoint
        self._closing = closing
        self._patience = patience
        self._room = queued_bytes
        self._hold = hold
        self._channel = open_channel(endpoint, _OPTIONS, certificates)
        self._metadata = bearer(ticket)
        # Without serializers gRPC sends and returns bytes as they are.
        self._export: Callable[..., bytes] = self._channel.unary_unary(METHODS[signal], None, None)
        self.kept = 0
        self.lost = 0
        self._lost_messages = 0
        self._reason = ""
        self._queue: deque[tuple[bytes, int]] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._abandoned = threading.Event()
        self._thread = threading.Thread(target=self._drain, name=f"otlp {signal}", daemon=True)
        self._thread.start()

    def write(self, message: bytes, count: int) -> None:
        with self._changed:
            if self._closed or len(message) > self._room:
                self._lose(count, "the queue was full")
                return
            self._room -= len(message)
            self._queue.append((message, count))
            self._changed.notify()

    def close(self) -> None:
        """Wait at most `closing` seconds for the rest. Raises ExportError if anything was lost."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(self._closing)
        self._abandoned.set()
        self._channel.close()  # ends the call that is under way, if any
        self._thread.join()
        with self._changed:
            while self._queue:  # the thread has ended before its time
                self._lose(self._queue.popleft()[1], "no time was left")
        if self._reason:
            raise ExportError(
                f"{self._endpoint} did not take {counted(self._lost_messages, 'request')} of {self._signal} "
                f"({counted(self.lost, _CONTENT[self._signal])}): {self._reason}"
            )

    def _drain(self) -> None:
        self._open()
        while True:
            with self._changed:
                if not self._queue:
                    self._changed.wait_for(lambda: self._queue or self._closed)
                    self._changed.wait_for(lambda: self._closed, self._hold)
                if not self._queue:
                    return
                message, count = self._queue.popleft()
            try:
                self._send(message, count)
            except Exception as error:
                # Whatever is wrong with one message, those behind it are still to be sent.
                with self._changed:
                    self._lose(count, f"{type(error).__name__}: {error}")
            with self._changed:
                self._room += len(message)

    def _open(self) -> None:
        """Connect to the Collector before there is anything to send, by an empty request."""
        with self._changed:
            if self._changed.wait_for(lambda: self._closed, self._hold):
                return
        with contextlib.suppress(Exception):  # what is wrong shows when there is something to send
            self._export(b"", timeout=_DEADLINE, metadata=self._metadata)

    def _send(self, message: bytes, count: int) -> None:
        """Send one message until it is taken, refused for good, or given up."""
        give_up = time.monotonic() + self._patience
        pause = _FIRST_PAUSE
        reason = "no time was left"
        while time.monotonic() < give_up and not self._abandoned.is_set():
            try:
                reply = self._export(message, timeout=_DEADLINE, metadata=self._metadata)
            except grpc.RpcError as error:
                reason = f"{error.code().name}: {error.details()}"
                if error.code() not in _PASSING:
                    break
                self._abandoned.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            except ValueError:  # the channel was closed a moment ago
                break
            else:
                self._count_taken(count, reply)
                return
        with self._changed:
            self._lose(count, reason)

    def _count_taken(self, count: int, reply: bytes) -> None:
        """Count what the Collector took by its reply, which has the same fields for both signals.

        A reply that does not parse says nothing, so what was sent counts as lost.
        """
        try:
            partial = ExportTraceServiceResponse.FromString(reply).partial_success
        except DecodeError as error:
            with self._changed:
                self._lose(count, f"its reply could not be read ({error})")
            return
        rejected = min(max(partial.rejected_spans, 0), count)
        with self._changed:
            self.kept += count - rejected
            self.lost += rejected
            if rejected:
                self._reason = self._reason or f"it rejected a part: {partial.error_message}"

    def _lose(self, count: int, reason: str) -> None:
        self.lost += count
        self._lost_messages += 1
        self._reason = self._reason or reason
