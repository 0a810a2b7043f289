"""Credentials of the programs of a trial: the token of the release, and certificates."""

from __future__ import annotations

import errno
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from emulator.trust.strangers import Strangers

AUTHORIZATION = "authorization"
START = "trellis-start"
"""The metadata key for the token of the program start that calls."""
_LONGEST = 4096
"""The most characters of a token."""
_STREAMS = 64
"""The most calls at once on a connection; a host has fewer than ten."""
_HANDSHAKE_MS = 10_000
"""The time in which a new connection has to be one of gRPC."""
_IDLE_MS = 60_000
"""The time for which a connection may have no call; hosts call each few seconds."""

Metadata = tuple[tuple[str, str], ...]


class NoCredentials(Exception):
    """A file with a token or a certificate is missing, or holds none."""


def new_token() -> str:
    """Return a random token that cannot be guessed."""
    return secrets.token_urlsafe(32)


def read_token(file: Path) -> str:
    """Return the only line of a file. Raises NoCredentials, whose text never has the token."""
    try:
        with file.open() as source:
            token = source.read(_LONGEST + 1).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise NoCredentials(f"the token cannot be read from {file}: {error}") from None
    if not token or len(token) > _LONGEST or not token.isascii() or not token.isprintable():
        raise NoCredentials(f"{file} holds no token: one line of at most {_LONGEST} printable characters")
    return token


@dataclass(frozen=True, slots=True)
class Certificates:
    """The certificate that all pods of a release show to each other, and the authority that they trust."""

    authority: bytes
    certificate: bytes
    key: bytes = field(repr=False)
    name: str
    """The DNS name in the certificate, which is the same for all pods."""

    @classmethod
    def read(cls, folder: Path, name: str) -> Certificates:
        """Read `ca.crt`, `tls.crt` and `tls.key`, as cert-manager names them.

        Raises NoCredentials.
        """
        try:
            authority, certificate, key = (
                (folder / file).read_bytes() for file in ("ca.crt", "tls.crt", "tls.key")
            )
        except OSError as error:
            raise NoCredentials(f"the certificates cannot be read: {error}") from None
        if not name:
            raise NoCredentials("the name in the certificates is not told")
        return cls(authority, certificate, key, name)

    def of_server(self) -> grpc.ServerCredentials:
        """Return credentials of a server that refuses clients without a certificate."""
        pair = [(self.key, self.certificate)]
        return grpc.ssl_server_credentials(pair, self.authority, require_client_auth=True)

    def of_client(self) -> grpc.ChannelCredentials:
        return grpc.ssl_channel_credentials(self.authority, self.key, self.certificate)


@dataclass(frozen=True, slots=True)
class Credentials:
    """The token of a release, and its certificates if pods talk by TLS."""

    token: str = field(default="", repr=False)
    """The token of the release. If it is empty nothing is asked or shown, as in tests of a part."""
    certificates: Certificates | None = None
    connections: int = 0
    """The most connections that a server of this program has at once; 0 is no limit."""

    @property
    def bounds(self) -> list[tuple[str, Any]]:
        """The options of a server that strangers reach, so that they cannot take all of its memory.

        A connection beyond the limit is closed at once, and one without a call is closed after a while, so
        that it does not keep the place of a host. `guard` bounds what one takes before it shows a secret.
        """
        if not self.connections:
            return []
        return [
            ("grpc.max_allowed_incoming_connections", self.connections),
            ("grpc.max_concurrent_streams", _STREAMS),
            ("grpc.server_handshake_timeout_ms", _HANDSHAKE_MS),
            ("grpc.max_connection_idle_ms", _IDLE_MS),
        ]

    @property
    def metadata(self) -> Metadata:
        """The metadata that goes with each call."""
        return bearer(self.token)

    def listen(self, server: grpc.aio.Server, address: str) -> int:
        """Let the server listen at an address. Returns the port. Raises OSError that names the address."""
        try:
            if self.certificates is None:
                return server.add_insecure_port(address)
            return server.add_secure_port(address, self.certificates.of_server())
        except RuntimeError:
            why = "cannot be listened on: it is no address of this machine, or another program has it"
            if self.certificates is not None:
                why += ", or the certificates are damaged"
            raise OSError(errno.EADDRNOTAVAIL, why, address) from None

    def guard(self, strangers: Strangers, port: int) -> None:
        """Bound what strangers' connections to this port take, if there is a limit of connections."""
        if self.connections:
            strangers.watch(port)

    def open(self, address: str, options: Sequence[tuple[str, Any]]) -> grpc.aio.Channel:
        """Return a channel to a program of the same release."""
        options = [*options, ("grpc.enable_http_proxy", 0)]
        if self.certificates is None:
            return grpc.aio.insecure_channel(address, options=options)
        named = [*options, ("grpc.ssl_target_name_override", self.certificates.name)]
        return grpc.aio.secure_channel(address, self.certificates.of_client(), options=named)

    def showing(self, channel: grpc.aio.Channel, start: str = "") -> Any:
        """Return a channel for stubs, whose calls show the token and the start of the program."""
        return _Showing(channel, self.metadata + (((START, start),) if start else ()))


def bearer(token: str) -> Metadata:
    """Return the metadata that shows a token."""
    return ((AUTHORIZATION, f"Bearer {token}"),) if token else ()


class _Showing:
    """A channel that adds metadata to each call, with the methods that stubs use."""

    def __init__(self, channel: grpc.aio.Channel, metadata: Metadata) -> None:
        self._channel = channel
        self._metadata = metadata

    def unary_unary(self, *arguments: Any, **options: Any) -> Any:
        return partial(self._channel.unary_unary(*arguments, **options), metadata=self._metadata)

    def stream_stream(self, *arguments: Any, **options: Any) -> Any:
        return partial(self._channel.stream_stream(*arguments, **options), metadata=self._metadata)


OPEN = Credentials()
"""No credentials: nothing is asked or shown."""
