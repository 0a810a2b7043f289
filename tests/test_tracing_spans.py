"""A program tells operators of itself by the OpenTelemetry SDK."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from otlp_receiver import Receiver, receiving, traced, values

from emulator.tracing import spans
from emulator.trust.credentials import Credentials

ROOT = Path(__file__).parent.parent


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def test_without_an_endpoint_nothing_is_loaded_and_a_span_does_nothing() -> None:
    code = """
import services.peer, services.coordinator, services.results, services.telemetry_gate, sys
from emulator.tracing import spans
spans.begin("host")
with spans.root("trial") as told:
    told.set({"a": 1})
    assert (spans.current(), told.traceparent) == ("", "")
print(*[name for name in sys.modules if name.startswith("opentelemetry") and ".proto" not in name])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() in ([], ["opentelemetry"])


@pytest.mark.parametrize(
    ("variables", "asked"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4317"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317", "OTEL_SDK_DISABLED": "True"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317", "OTEL_TRACES_EXPORTER": "none"}, False),
    ],
)
def test_the_variables_of_opentelemetry_say_whether_a_program_is_traced(
    variables: dict[str, str], asked: bool
) -> None:
    assert spans.is_asked(variables) is asked


def test_spans_are_below_the_span_under_way_or_the_one_that_another_program_names(receiver: Receiver) -> None:
    with traced(receiver):
        with spans.root("trial") as told, spans.span("plan"):
            pass
        with spans.span("take part", {"trellis.host": "host-3"}, told.traceparent), spans.span("finish"):
            pass
    trial, plan, part, finish = (receiver.only(n) for n in ("trial", "plan", "take part", "finish"))
    assert not trial.parent_span_id
    assert (plan.parent_span_id, part.parent_span_id) == (trial.span_id, trial.span_id)
    assert finish.parent_span_id == part.span_id
    assert {span.trace_id for _, span in receiver.told()} == {trial.trace_id}
    assert values(part.attributes) == {"trellis.host": "host-3"}


def test_what_is_over_is_told_with_its_own_times_and_why_it_failed(receiver: Receiver) -> None:
    with traced(receiver), spans.root("trial"):
        spans.record("delete pod", 10**18, 10**18 + 5, {"trellis.peer": 7}, error="it stayed")
    found = receiver.only("delete pod")
    assert (found.start_time_unix_nano, found.end_time_unix_nano) == (10**18, 10**18 + 5)
    assert found.parent_span_id == receiver.only("trial").span_id
    assert (found.status.code, found.status.message) == (Status.STATUS_CODE_ERROR, "it stayed")


def test_an_error_that_comes_out_of_a_span_is_its_status(receiver: Receiver) -> None:
    with traced(receiver), pytest.raises(OSError), spans.span("close telemetry"):
        raise OSError("the disk is full")
    found = receiver.only("close telemetry")
    assert found.status.code == Status.STATUS_CODE_ERROR
    assert "the disk is full" in found.status.message


def test_a_trial_that_is_taken_up_keeps_its_span(receiver: Receiver) -> None:
    with traced(receiver), spans.root("trial") as first:
        spans.record("phase join", 1, 2)
        first.leave()
    with traced(receiver), spans.root("trial", again=first.traceparent, start_ns=10**18):
        spans.record("phase drain", 3, 4)
    trial = receiver.only("trial")
    assert first.traceparent.split("-")[1:3] == [trial.trace_id.hex(), trial.span_id.hex()]
    assert trial.start_time_unix_nano == 10**18
    for name in ("phase join", "phase drain"):
        assert receiver.only(name).parent_span_id == trial.span_id
    assert receiver.only("phase drain").span_id != trial.span_id


@pytest.mark.parametrize("again", ["", "00-nonsense", "00-" + "0" * 32 + "-" + "0" * 16 + "-01"])
def test_what_is_no_identity_begins_a_new_trace(receiver: Receiver, again: str) -> None:
    with traced(receiver), spans.root("trial", again=again):
        pass
    assert receiver.only("trial").trace_id


def test_an_analysis_of_several_trials_has_links_to_their_spans(receiver: Receiver) -> None:
    with traced(receiver):
        trials = []
        for _ in range(2):
            with spans.root("trial") as told:
                trials.append(told.traceparent)
        with spans.span("analysis", links=[*trials, ""]):
            pass
    found = receiver.only("analysis")
    assert [link.span_id for link in found.links] == [span.span_id for span in receiver.named("trial")]
    assert found.trace_id not in {span.trace_id for span in receiver.named("trial")}


def test_a_request_is_told_as_one_that_was_served(receiver: Receiver) -> None:
    with traced(receiver), spans.span("GET /status", serving=True):
        pass
    assert receiver.only("GET /status").kind == Span.SPAN_KIND_SERVER


def test_a_program_says_what_it_is_and_the_variables_have_the_last_word(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with traced(receiver, "coordinator"), spans.span("a"):
        pass
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "k8s.pod.name=demo-0,service.version=mine")
    with traced(receiver, "coordinator"), spans.span("b"):
        pass
    monkeypatch.setenv("OTEL_SERVICE_NAME", "ours")
    with traced(receiver, "coordinator"), spans.span("c"):
        pass
    first, second, third = (resource for resource, _ in receiver.told())
    assert first["service.name"] == second["service.name"] == "trellis-coordinator"
    assert first["service.version"] != "mine" and first["service.instance.id"]
    assert (second["service.version"], second["service.instance.id"]) == ("mine", "demo-0")
    assert third["service.name"] == "ours"


def test_the_token_of_the_release_is_shown(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.endpoint)
    spans.begin("host", "host-3", Credentials("secret"))
    with spans.span("a"):
        pass
    spans.end()
    assert receiver.metadata["authorization"] == "Bearer secret"
    assert receiver.told()[0][0]["service.instance.id"] == "host-3"


def test_a_protocol_that_there_is_not_is_told_and_the_program_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")
    spans.begin("host")
    with spans.span("a"):
        assert spans.current() == ""
    assert "OTEL_EXPORTER_OTLP_PROTOCOL" in capsys.readouterr().err


def test_an_endpoint_that_is_away_is_told_once_and_costs_a_few_seconds_at_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    spans.begin("host")
    for _ in range(3):
        with spans.span("a"):
            pass
    began = time.monotonic()
    spans.end()
    assert time.monotonic() - began < 5.0  # what a local host has to exit
    assert capsys.readouterr().err.count("spans of this program are not taken") == 1
