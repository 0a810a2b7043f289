"""Lines of logs as log records of the OpenTelemetry SDK, sent by OTLP.

The SDK reads its own variables, as for spans. See https://opentelemetry.io/docs/specs/otel/logs/data-model/.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

from opentelemetry import trace
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

from emulator.tracing.sdk import LOGS, exporter_options, resource_of, tell_failures_once
from emulator.trust.credentials import Credentials

_SCOPE = "trellis.programs"
_SEVERITIES: Final = {
    "DEBUG": SeverityNumber.DEBUG,
    "INFO": SeverityNumber.INFO,
    "WARNING": SeverityNumber.WARN,
    "ERROR": SeverityNumber.ERROR,
    "CRITICAL": SeverityNumber.FATAL,
}
_ATTRIBUTES: Final = {"trial": "trellis.trial", "host": "trellis.host", "exception": "exception.stacktrace"}
"""The attributes of a record by the fields of a line that they are made from."""


class SdkLogs:
    """The sender of a program's lines. What is left is sent when the program ends."""

    def __init__(
        self, role: str, instance: str, credentials: Credentials, environment: Mapping[str, str]
    ) -> None:
        """Raises CannotTrace for a protocol that there is not."""
        exporter = OTLPLogExporter(**exporter_options(LOGS, credentials, environment))
        tell_failures_once("log records")
        self._provider = LoggerProvider(resource_of(role, instance))
        self._provider.add_log_record_processor(BatchLogRecordProcessor(exporter))

    def send(self, level: str, message: str, fields: Mapping[str, str]) -> None:
        """Send a line as a record of the span that is under way, or else of the trace in its fields."""
        now, here = time.time_ns(), trace.get_current_span().get_span_context()
        self._provider.get_logger(fields.get("logger", _SCOPE)).emit(
            LogRecord(
                timestamp=now,
                observed_timestamp=now,
                trace_id=here.trace_id if here.is_valid else int(fields.get("trace_id", "0"), 16),
                span_id=here.span_id,
                trace_flags=here.trace_flags,
                severity_text=level,
                severity_number=_SEVERITIES.get(level, SeverityNumber.UNSPECIFIED),
                body=message,
                attributes={key: fields[name] for name, key in _ATTRIBUTES.items() if name in fields},
            )
        )

    def close(self) -> None:
        """Send what is left, for a few seconds at most."""
        self._provider.shutdown()
