"""The beginning of what a program of a release tells of itself: spans and logs by OTLP, and logs as JSON."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from emulator.tracing import log_lines, spans
from emulator.tracing.tracer import CannotTrace
from emulator.trust.credentials import OPEN, Certificates, Credentials, read_token

_TOKEN = "TRELLIS_PROGRAMS_TOKEN_FILE"
"""The variable with the file of the token that the gate of the release asks for spans of programs. Without it
the endpoint is not the release's own, and is shown neither token nor certificate."""


def tell_of_self(role: str, instance: str = "") -> None:
    """Begin to trace this program, to write its log as JSON and to send it, each if the environment asks for
    it.

    Raises NoCredentials if a file with a token or a certificate is missing.
    """
    sent = spans.sends_logs(os.environ)
    log_lines.begin(f"trellis-{role}", os.environ, instance, sent)
    if spans.is_asked(os.environ):
        spans.begin(role, instance, _credentials())
    if sent:
        _send_logs(role, instance, _credentials())


def _send_logs(role: str, instance: str, credentials: Credentials) -> None:
    from emulator.tracing.sdk_logs import SdkLogs  # the SDK is loaded only where it is asked for

    try:
        log_lines.send_by(SdkLogs(role, instance, credentials, os.environ).send)
    except CannotTrace as error:
        print(f"this program does not send its log: {error}", file=sys.stderr, flush=True)


def _credentials() -> Credentials:
    token, folder = os.environ.get(_TOKEN), os.environ.get("TRELLIS_CERTIFICATES")
    if not token:
        return OPEN
    name = os.environ.get("TRELLIS_CERTIFICATE_NAME", "")
    certificates = Certificates.read(Path(folder), name) if folder else None
    return Credentials(read_token(Path(token)), certificates)
