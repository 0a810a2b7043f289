"""The options by which a program of a release gets its credentials."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from emulator.trust.credentials import Certificates, Credentials, NoCredentials, read_token


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options. The token itself is none, because everybody who lists processes would see it."""
    parser.add_argument(
        "--token", type=Path, default=_path("TRELLIS_TOKEN_FILE"), help="file with the release's token"
    )
    add_certificates(parser)


def add_certificates(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--certificates",
        type=Path,
        default=_path("TRELLIS_CERTIFICATES"),
        help="folder with ca.crt, tls.crt and tls.key: talk by TLS",
    )
    parser.add_argument(
        "--certificate-name", default=os.environ.get("TRELLIS_CERTIFICATE_NAME", ""), help="DNS name in them"
    )


def add_connections(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--connections", type=int, default=0, help="most connections at once; by default there is no limit"
    )


def credentials_of(arguments: argparse.Namespace, connections: int = 0) -> Credentials:
    """Return the credentials that the options name. Raises NoCredentials if a file is missing or empty."""
    if arguments.token is None:
        raise NoCredentials("there is no token. Name a file that holds one: --token FILE")
    return Credentials(read_token(arguments.token), certificates_of(arguments), connections)


def certificates_of(arguments: argparse.Namespace) -> Certificates | None:
    """Return the certificates; None for programs without TLS. Raises NoCredentials if a file is missing."""
    if arguments.certificates is None:
        return None
    return Certificates.read(arguments.certificates, arguments.certificate_name)


def _path(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value) if value else None
