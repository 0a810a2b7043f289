"""The replay of a finished trial's traces to an OTLP/gRPC backend, so that Jaeger or Tempo can show them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import zstandard
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from emulator.experiment.run.directory import TrialDirectory
from emulator.files.input_facts import counted
from emulator.telemetry import names
from emulator.telemetry.backend_traces import BackendTraces, ended_ns
from emulator.telemetry.endpoint import open_channel
from emulator.telemetry.messaging import add_messaging
from emulator.telemetry.otlp_files import read_frames
from emulator.telemetry.repeated_messages import Contents, scan_once
from emulator.telemetry.trace_outcomes import TraceOutcomes

SPANS_A_REQUEST = 1000
"""The spans in a request, which stays well below gRPC's usual limit of 4 MiB."""
DEADLINE = 20.0
"""The seconds that a backend has to answer a request."""
ATTEMPTS = 6
FIRST_PAUSE = 0.5
"""The seconds before the second attempt; each further pause is twice as long."""
_NOTE_EACH = 50
_PASSING = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.ABORTED,
)


class ReplayError(Exception):
    """The backend did not take a request."""


@dataclass(slots=True)
class Sent:
    """The result of a replay."""

    spans: int = 0
    """The number of spans that the backend accepted."""
    requests: int = 0
    left_out: int = 0
    """The number of spans in traces that were not to be sent."""
    rejected: int = 0
    """The number of spans that the backend refused in requests that it otherwise took."""
    messages: set[str] = field(default_factory=set)
    """The backend's reasons for refusing them."""
    losses: list[str] = field(default_factory=list)
    """The files that could not be read to their end."""

    @property
    def whole(self) -> bool:
        """This is true if every span arrived that was to be sent."""
        return not self.rejected and not self.losses

    def lines(self) -> list[str]:
        """Return the result in words; failures come first."""
        said = f": {'; '.join(sorted(self.messages))}" if self.messages else ""
        lines = [f"the backend rejected {counted(self.rejected, 'span')}{said}"] if self.rejected else []
        out = f"; left out {counted(self.left_out, 'span')} of other traces" if self.left_out else ""
        return [
            *lines,
            *self.losses,
            f"sent {counted(self.spans, 'span')} in {counted(self.requests, 'request')}{out}",
        ]


def traces_of(directory: TrialDirectory) -> list[Path]:
    """Return the trace files of a trial, by name."""
    return sorted(directory.telemetry.glob("*-traces-*.otlp"))


def replay(
    directory: TrialDirectory,
    endpoint: str,
    note: Callable[[str], None] = lambda _: None,
    shift: bool = True,
    sleep: Callable[[float], None] = time.sleep,
    share: float = 1.0,
) -> Sent:
    """Send the spans of a trial, record by record: those of all traces, or of about a `share` of them.

    With `shift`, the spans of a virtual clock are moved so that the trial ends when it did on the wall clock,
    or now if that is not known, and those of hosts in real time to the coordinator's clock as it was at the
    start. A trial that is sent again has the same ids and times, and a larger share includes a smaller one.
    Raises BadEndpoint, DamagedFile, and ReplayError if the backend refuses a request or stays unavailable.
    """
    start = _start_ns(directory) if shift else None
    there = BackendTraces(directory)
    outcomes = _outcomes(directory)
    sent = Sent()
    with open_channel(endpoint) as channel:
        stub = TraceServiceStub(channel)  # type: ignore[no-untyped-call]
        for contents in scan_once(traces_of(directory)):
            for record in _records(contents, sent):
                for request in _requests(record, start, there, outcomes, share, sent):
                    _export(stub, request, sent, endpoint, note, sleep)
                    if sent.requests % _NOTE_EACH == 0:
                        note(f"{counted(sent.spans, 'span')} sent")
    return sent


def _start_ns(directory: TrialDirectory) -> int | None:
    """Return the ns since 1970 at which trial time 0 is in the backend, None if spans stay where they are."""
    fidelity = directory.read_fidelity()
    if fidelity.get("runtime") == "virtual":
        progress = directory.read_status().get("progress") or {}
        end = ended_ns(directory) or time.time_ns()
        return end - int(progress.get("trial_end", 0) * 1e9)
    offsets = {
        host["host"]: host.get("clock_offset_start_ns")
        for host in fidelity.get("hosts", [])
        if host.get("state") == "finished"
    }
    for host, start in _starts(directory):
        offset = offsets.get(host)
        if isinstance(offset, int):
            return start - offset
    return None


def _outcomes(directory: TrialDirectory) -> TraceOutcomes:
    """Return what came of the operations of a trial, as far as its files can be read."""
    outcomes = TraceOutcomes()
    for contents in scan_once(traces_of(directory)):
        for record in _records(contents, Sent()):
            outcomes.read(record)
    return outcomes


def _starts(directory: TrialDirectory) -> Iterator[tuple[str, int]]:
    """Yield hosts, and trial time 0 on their clocks."""
    for contents in scan_once(traces_of(directory)):
        for record in _records(contents, Sent()):
            for resource in record.resource_spans:
                told = {each.key: each.value for each in resource.resource.attributes}
                if names.START in told and names.HOST in told:
                    yield told[names.HOST].string_value, told[names.START].int_value


def _records(contents: Contents, sent: Sent) -> Iterator[TracesData]:
    """Yield all whole records, and note the files of which something is lost."""
    name = contents.path.name
    sent.losses.extend(
        f"{name} is cut off at byte {cut.offset:,}: {cut.lost_bytes:,} bytes are no whole record"
        for cut in contents.cuts
    )
    try:
        for message in read_frames(contents.path, contents.records):
            yield TracesData.FromString(message)
    except (zstandard.ZstdError, DecodeError) as error:
        sent.losses.append(f"{name} is damaged and was read only to there: {error}")


def _requests(
    record: TracesData,
    start: int | None,
    there: BackendTraces,
    outcomes: TraceOutcomes,
    share: float,
    sent: Sent,
) -> Iterator[ExportTraceServiceRequest]:
    """Yield requests of a bounded number of spans, made as a backend wants them."""
    for resource in record.resource_spans:
        offset = 0
        for attribute in resource.resource.attributes:
            if attribute.key == names.START and start is not None:
                offset = start - attribute.value.int_value
                attribute.value.int_value = start
        for scope in resource.scope_spans:
            chosen = [span for span in scope.spans if share == 1 or there.is_among(span.trace_id, share)]
            sent.left_out += len(scope.spans) - len(chosen)
            for first in range(0, len(chosen), SPANS_A_REQUEST):
                request = ExportTraceServiceRequest()
                target = request.resource_spans.add(
                    resource=resource.resource, schema_url=resource.schema_url
                )
                part = target.scope_spans.add(scope=scope.scope, schema_url=scope.schema_url)
                spans = chosen[first : first + SPANS_A_REQUEST]
                for span in spans:
                    outcomes.complete(span, there)
                    _change(span, offset, there)
                part.spans.extend(spans)
                yield request


def _change(span: Span, offset: int, there: BackendTraces) -> None:
    span.trace_id = there.id(span.trace_id)
    span.start_time_unix_nano += offset
    span.end_time_unix_nano += offset
    for event in span.events:
        event.time_unix_nano += offset
    add_messaging(span)


def _export(
    stub: TraceServiceStub,
    request: ExportTraceServiceRequest,
    sent: Sent,
    endpoint: str,
    note: Callable[[str], None],
    sleep: Callable[[float], None],
) -> None:
    for attempt in range(1, ATTEMPTS + 1):
        try:
            response: ExportTraceServiceResponse = stub.Export(request, timeout=DEADLINE)
            break
        except grpc.RpcError as error:
            if error.code() not in _PASSING or attempt == ATTEMPTS:
                what = f"{error.code().name}: {error.details()}"
                tried = f" after {attempt} attempts" if attempt > 1 else ""
                raise ReplayError(
                    f"{endpoint} did not take the spans{tried} ({sent.spans:,} sent): {what}"
                ) from None
        pause = FIRST_PAUSE * 2 ** (attempt - 1)
        note(f"{endpoint} does not answer; attempt {attempt + 1} of {ATTEMPTS} in {pause:g} s")
        sleep(pause)
    count = len(request.resource_spans[0].scope_spans[0].spans)
    rejected = response.partial_success.rejected_spans
    sent.requests += 1
    sent.spans += count - rejected
    sent.rejected += rejected
    if response.partial_success.error_message:
        sent.messages.add(response.partial_success.error_message)
