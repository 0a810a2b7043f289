"""Addresses of servers that take OTLP over gRPC."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

import grpc

from emulator.trust.credentials import Certificates

_PORT = 4317


class BadEndpoint(ValueError):
    """The text is not an address to which OTLP/gRPC can be sent."""


def open_channel(
    endpoint: str, options: Sequence[tuple[str, int]] = (), certificates: Certificates | None = None
) -> grpc.Channel:
    """Return a channel to `http://HOST:PORT` or `https://HOST:PORT`.

    `certificates` are for a server of the same release; this machine must know any other server's. Raises
    BadEndpoint.
    """
    try:
        address = urlsplit(endpoint)
        port = address.port or _PORT
    except ValueError:  # brackets without an end, or a port that is none
        address, port = urlsplit(""), 0
    if address.scheme not in ("http", "https") or not address.hostname or not port:
        raise BadEndpoint(
            f'"{endpoint}" is not an endpoint. Write http://HOST:{_PORT} or https://HOST:{_PORT}'
        )
    if address.path not in ("", "/"):
        raise BadEndpoint(
            f'"{endpoint}" has a path, as OTLP over HTTP does. Name the gRPC port, usually {_PORT}'
        )
    host = f"[{address.hostname}]" if ":" in address.hostname else address.hostname
    if address.scheme == "https" and certificates is not None:
        named = [*options, ("grpc.ssl_target_name_override", certificates.name)]
        return grpc.secure_channel(f"{host}:{port}", certificates.of_client(), named)
    if address.scheme == "https":
        return grpc.secure_channel(f"{host}:{port}", grpc.ssl_channel_credentials(), options)
    return grpc.insecure_channel(f"{host}:{port}", options)
