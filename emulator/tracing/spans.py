"""Spans in which a program tells what it does: a plan, a phase, a deletion, a verdict.

A trial is one trace, whose root span is the coordinator's. Its identity travels as a W3C traceparent in what
hosts and the churn controller are given with their plan. See https://www.w3.org/TR/trace-context/.

The variables are those of OpenTelemetry. Without an endpoint nothing is loaded, and a span is an object
that does nothing.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from emulator.tracing.tracer import Attributes, CannotTrace, Span, Tracer

if TYPE_CHECKING:
    from emulator.trust.credentials import Credentials


class _Nothing:
    """A span of a program that traces nothing."""

    traceparent = ""

    def set(self, attributes: Attributes) -> None:
        """Keep nothing."""

    def fail(self, why: str) -> None:
        """Keep nothing."""

    def leave(self) -> None:
        """Keep nothing."""


NOTHING: Span = _Nothing()
"""The span of a program that traces nothing."""
_tracer: Tracer | None = None


def is_asked(given: Mapping[str, str]) -> bool:
    """Return whether the variables name an endpoint for traces, and do not turn traces off."""
    exporter = given.get("OTEL_TRACES_EXPORTER", "otlp").strip().lower()
    return _has_endpoint(given, "TRACES") and exporter in ("", "otlp")


def sends_logs(given: Mapping[str, str]) -> bool:
    """Return whether the variables ask for logs by OTLP and name an endpoint for them.

    Unlike traces, logs are sent only if `OTEL_LOGS_EXPORTER` is `otlp`, because clusters collect what
    programs write.
    """
    exporter = given.get("OTEL_LOGS_EXPORTER", "").strip().lower()
    return _has_endpoint(given, "LOGS") and exporter == "otlp"


def _has_endpoint(given: Mapping[str, str], signal: str) -> bool:
    disabled = given.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    names = (f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
    return not disabled and any(given.get(name, "").strip() for name in names)


def begin(role: str, instance: str = "", credentials: Credentials | None = None) -> None:
    """Trace this program from now on, if the environment asks for it.

    `role` is what the program is, such as "host", and `instance` tells it from others of its role. The
    credentials are for an endpoint of the same release. What cannot be traced is told on standard error; the
    program goes on without it.
    """
    global _tracer
    if _tracer is not None or not is_asked(os.environ):
        return
    from emulator.tracing.sdk import SdkTracer
    from emulator.trust.credentials import OPEN

    try:
        _tracer = SdkTracer(role, instance, credentials or OPEN, os.environ)
    except CannotTrace as error:
        print(f"this program does not trace itself: {error}", file=sys.stderr, flush=True)


def end() -> None:
    """Send what is left, for a few seconds at most, and trace nothing from now on."""
    global _tracer
    if _tracer is not None:
        _tracer.close()
        _tracer = None


@contextlib.contextmanager
def span(
    name: str,
    attributes: Attributes | None = None,
    parent: str = "",
    links: Sequence[str] = (),
    serving: bool = False,
) -> Iterator[Span]:
    """Make a span of what is done meanwhile, which an error that comes out of it marks as failed.

    Its parent is the traceparent `parent`, or the span that is under way in this thread or task. The links
    are traceparents too. `serving` says that it is the answer to a request of another program.
    """
    if _tracer is None:
        yield NOTHING
    else:
        with _tracer.span(name, attributes or {}, parent, links, serving) as made:
            yield made


@contextlib.contextmanager
def root(
    name: str, attributes: Attributes | None = None, again: str = "", start_ns: int = 0
) -> Iterator[Span]:
    """Make the first span of a trace.

    With the traceparent `again` it is the span that an earlier program began and left. `start_ns` is the unix
    time of its begin, 0 for now.
    """
    if _tracer is None:
        yield NOTHING
    else:
        with _tracer.root(name, attributes or {}, again, start_ns) as made:
            yield made


def record(
    name: str,
    start_ns: int,
    end_ns: int,
    attributes: Attributes | None = None,
    parent: str = "",
    error: str = "",
) -> None:
    """Make a span of something that is over. Times are unix ns; an error gives it that status."""
    if _tracer is not None:
        _tracer.record(name, start_ns, end_ns, attributes or {}, parent, error)


def current() -> str:
    """Return the traceparent of the span that is under way in this thread or task, or ""."""
    return "" if _tracer is None else _tracer.current()
