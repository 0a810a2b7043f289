"""The beginning of what a program of a release tells of itself: spans by OTLP, and logs as JSON."""

from __future__ import annotations

import os
from pathlib import Path

from emulator.tracing import log_lines, spans
from emulator.trust.credentials import OPEN, Certificates, Credentials, read_token

_TOKEN = "TRELLIS_PROGRAMS_TOKEN_FILE"
"""The variable with the file of the token that the gate of the release asks for spans of programs. Without it
the endpoint is not the release's own, and is shown neither token nor certificate."""


def tell_of_self(role: str, instance: str = "") -> None:
    """Begin to trace this program and to write its log as JSON, each if the environment asks for it.

    Raises NoCredentials if a file with a token or a certificate is missing.
    """
    log_lines.begin(f"trellis-{role}", os.environ, instance)
    if spans.is_asked(os.environ):
        spans.begin(role, instance, _credentials())


def _credentials() -> Credentials:
    token, folder = os.environ.get(_TOKEN), os.environ.get("TRELLIS_CERTIFICATES")
    if not token:
        return OPEN
    name = os.environ.get("TRELLIS_CERTIFICATE_NAME", "")
    certificates = Certificates.read(Path(folder), name) if folder else None
    return Credentials(read_token(Path(token)), certificates)
