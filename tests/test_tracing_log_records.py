"""Lines of logs as log records of OTLP."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, SeverityNumber
from otlp_receiver import receiving, values

from emulator.tracing import spans

ROOT = Path(__file__).parent.parent
TRACE = "ab" * 16
PROGRAM = f"""
import logging, sys
from emulator.tracing import log_lines, spans
from services.self_telling import tell_of_self
tell_of_self("host", "host-3")
print("waiting for", "demo:7000")
log_lines.of_trial("vitis-1", "00-{TRACE}-" + "cd" * 8 + "-01")
print("a\\n\\nb", file=sys.stderr)
with spans.span("take part"):
    print("in a span")
log_lines.of_trial("", "")
logging.getLogger("library").warning("slow %s", "call")
raise ValueError("no such peer")
"""


def ran(**variables: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")} | variables
    return subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=ROOT, env=environment
    )


def severity(record: LogRecord) -> tuple[str, str]:
    return SeverityNumber.Name(record.severity_number), record.severity_text


@pytest.mark.parametrize("form", ["text", "json"])
def test_each_line_is_a_record_of_its_trial_and_trace_and_is_written_as_before(form: str) -> None:
    with receiving() as receiver:
        sending = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint, "OTEL_LOGS_EXPORTER": "otlp"}
        done = ran(TRELLIS_LOG_FORMAT=form, **sending)
        told = receiver.records()
        (part,) = receiver.named("take part")
    records = {record.body.string_value: record for _, _, record in told}
    waiting, in_trial, in_span = records["waiting for demo:7000"], records["a"], records["in a span"]
    assert len(told) == 6 and "b" in records
    assert all(resource["service.name"] == "trellis-host" for resource, _, _ in told)
    assert all(resource["service.instance.id"] == "host-3" for resource, _, _ in told)
    assert severity(waiting) == ("SEVERITY_NUMBER_INFO", "INFO") and waiting.time_unix_nano > 0
    assert values(waiting.attributes) == {"trellis.host": "host-3"} and not waiting.trace_id
    assert severity(in_trial) == ("SEVERITY_NUMBER_ERROR", "ERROR")
    assert values(in_trial.attributes) == {"trellis.host": "host-3", "trellis.trial": "vitis-1"}
    assert (in_trial.trace_id.hex(), in_trial.span_id) == (TRACE, b"")
    assert (in_span.trace_id, in_span.span_id) == (part.trace_id, part.span_id)
    assert severity(records["slow call"]) == ("SEVERITY_NUMBER_WARN", "WARNING")
    assert {name for _, name, record in told if record.body.string_value == "slow call"} == {"library"}
    raised = values(records["ValueError: no such peer"].attributes)
    assert raised["exception.stacktrace"].startswith("Traceback")
    if form == "text":
        alone = ran()
        assert (done.stdout, done.returncode) == (alone.stdout, 1)
        assert done.stderr.replace("\n\n", "\n") == alone.stderr.replace("\n\n", "\n")


@pytest.mark.parametrize(
    ("variables", "asked"),
    [
        ({"OTEL_LOGS_EXPORTER": "otlp"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317", "OTEL_LOGS_EXPORTER": "otlp"}, True),
        ({"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "http://c:4317", "OTEL_LOGS_EXPORTER": "OTLP"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4317", "OTEL_LOGS_EXPORTER": "otlp"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4317", "OTEL_LOGS_EXPORTER": "console"}, False),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_LOGS_EXPORTER": "otlp"}
            | {"OTEL_SDK_DISABLED": "true"},
            False,
        ),
    ],
)
def test_logs_are_sent_only_if_the_variables_ask_for_it(variables: dict[str, str], asked: bool) -> None:
    assert spans.sends_logs(variables) is asked


def test_a_protocol_that_there_is_not_is_told_and_the_program_goes_on() -> None:
    done = ran(
        OTEL_EXPORTER_OTLP_LOGS_ENDPOINT="http://127.0.0.1:1",
        OTEL_EXPORTER_OTLP_LOGS_PROTOCOL="http/protobuf",
        OTEL_LOGS_EXPORTER="otlp",
    )
    assert "this program does not send its log: OTEL_EXPORTER_OTLP_PROTOCOL is" in done.stderr
    assert "waiting for demo:7000" in done.stdout
