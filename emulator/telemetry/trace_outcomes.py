"""Status and links of a trial's spans in a backend, which follow from all of its spans together.

A host that records a span knows neither the end of its operation nor the traces of other hosts' publications.
"""

from __future__ import annotations

from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status, TracesData

from emulator.telemetry import names
from emulator.telemetry.backend_traces import BackendTraces

_LOOKUP = "lookup"
_PUBLISH = "publish"


class TraceOutcomes:
    """The publications of a trial, and the operations that came to an end."""

    def __init__(self) -> None:
        self._publications: dict[int, tuple[bytes, bytes]] = {}
        """The ids of trace and span of each publication by its number in the plan."""
        self._ended: set[tuple[str, int]] = set()
        """The operations that came to an end by name and number in the plan."""
        self._ending: set[str] = set()
        """The names of the operations that come to an end where all is well."""

    def read(self, record: TracesData) -> None:
        """Take in the spans of a record. All records of a trial are read before `complete`."""
        for resource in record.resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    self._read(span)

    def complete(self, span: Span, there: BackendTraces) -> None:
        """Add to a span, as it is in the telemetry, what a backend shows of its outcome.

        An operation that nothing answered has the status ERROR. A span about a publication of another trace
        has a link to it: a message may carry several events, and is in the trace of one.
        """
        numbers = {each.key: each.value.int_value for each in span.attributes}
        publication = self._publications.get(numbers.get(names.EVENT, -1))
        if publication is not None and publication[0] != span.trace_id:
            span.links.add(trace_id=there.id(publication[0]), span_id=publication[1])
        operation = None if span.parent_span_id else _operation(span, numbers)
        if operation is not None and operation[0] in self._ending and operation not in self._ended:
            span.status.code = Status.STATUS_CODE_ERROR
            span.status.message = f"the {operation[0]} had no outcome before the trial ended"

    def _read(self, span: Span) -> None:
        told = {each.key: each.value for each in span.attributes}
        if names.DELIVERED in told:
            if names.LOOKUP in told:
                self._end(_LOOKUP, told[names.LOOKUP].int_value)
            elif names.OPERATION in told:
                self._end(told[names.OPERATION].string_value, told[names.NUMBER].int_value)
        elif span.name == _PUBLISH and not span.parent_span_id and names.EVENT in told:
            self._publications[told[names.EVENT].int_value] = span.trace_id, span.span_id
        elif span.name == _LOOKUP and not span.parent_span_id:
            self._ending.add(_LOOKUP)

    def _end(self, operation: str, number: int) -> None:
        self._ending.add(operation)
        self._ended.add((operation, number))


def _operation(span: Span, numbers: dict[str, int]) -> tuple[str, int] | None:
    """Return name and number of the operation that a root span is; None if it is none with a number."""
    key = names.LOOKUP if span.name == _LOOKUP else names.NUMBER
    return (span.name, numbers[key]) if key in numbers else None
