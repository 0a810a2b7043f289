"""Status and links that spans have in a backend follow from all spans of the trial."""

from __future__ import annotations

from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status, TracesData

from emulator.experiment.run.directory import TrialDirectory
from emulator.telemetry import names
from emulator.telemetry.backend_traces import BackendTraces
from emulator.telemetry.trace_outcomes import TraceOutcomes

THERE = BackendTraces(TrialDirectory(Path("run/trials/vitis-1")))


def span(trace: int, number: int, name: str, parent: int = 0, **told: int | str | bool) -> Span:
    made = Span(trace_id=trace.to_bytes(16, "big"), span_id=number.to_bytes(8, "big"), name=name)
    if parent:
        made.parent_span_id = parent.to_bytes(8, "big")
    for key, value in told.items():
        of = made.attributes.add(key=getattr(names, key)).value
        if isinstance(value, bool):
            of.bool_value = value
        elif isinstance(value, int):
            of.int_value = value
        else:
            of.string_value = value
    return made


def completed(*spans: Span) -> list[Span]:
    """Return the spans as a backend gets them; each was written by a host of its own."""
    outcomes = TraceOutcomes()
    for each in spans:
        record = TracesData()
        record.resource_spans.add().scope_spans.add().spans.append(each)
        outcomes.read(record)
    for each in spans:
        outcomes.complete(each, THERE)
    return list(spans)


def test_a_message_about_an_event_of_another_trace_has_a_link_to_its_publication() -> None:
    first, second, own, digest, delivery = completed(
        span(1, 10, "publish", EVENT=7),
        span(2, 20, "publish", EVENT=8),
        span(1, 11, "Notification", 10, EVENT=7),
        span(1, 12, "Digest", 10, EVENT=8),
        span(3, 30, "delivery", EVENT=7, DELIVERED=True),
    )
    assert not first.links and not second.links and not own.links
    (to_second,), (to_first,) = digest.links, delivery.links
    assert (to_second.trace_id, to_second.span_id) == (THERE.id(second.trace_id), second.span_id)
    assert (to_first.trace_id, to_first.span_id) == (THERE.id(first.trace_id), first.span_id)


def test_an_event_without_a_publication_in_the_files_has_no_link() -> None:
    (found,) = completed(span(1, 10, "delivery", EVENT=7, DELIVERED=True))
    assert not found.links


@pytest.mark.parametrize("others", [[], [span(2, 20, "lookup", LOOKUP=4)]])
def test_a_lookup_without_an_answer_is_an_error_and_one_with_an_answer_is_not(others: list[Span]) -> None:
    answered, hop, *failed = completed(
        span(1, 10, "lookup", LOOKUP=3), span(1, 11, "Route", 10, LOOKUP=3, DELIVERED=True), *others
    )
    assert answered.status == hop.status == Status()
    for each in failed:
        assert each.status.code == Status.STATUS_CODE_ERROR
        assert each.status.message == "the lookup had no outcome before the trial ended"


def test_an_operation_that_never_has_an_outcome_is_no_error() -> None:
    put, lost, get, _ = completed(
        span(1, 10, "put", NUMBER=1),
        span(2, 20, "get", NUMBER=1),
        span(3, 30, "get", NUMBER=2),
        span(3, 31, "delivery", 30, DELIVERED=True, OPERATION="get", NUMBER=2),
    )
    assert put.status == get.status == Status()
    assert lost.status.code == Status.STATUS_CODE_ERROR
