"""What a program of a trial shows to others, and asks of them: the token of the release, and certificates."""

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

AUTHORIZATION = "authorization"
START = "trellis-start"
"""The metadata that tells which start of a program calls."""
_LONGEST = 4096
"""Characters of a token."""

Metadata = tuple[tuple[str, str], ...]


class NoCredentials(Exception):
    """A file with a token or a certificate is not there, or holds none."""


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(32)


def read_token(file: Path) -> str:
    """The only line of a file. Raises NoCredentials, which never tells the token."""
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
    """The certificate that all pods of a release show each other, and the authority that they believe."""

    authority: bytes
    certificate: bytes
    key: bytes = field(repr=False)
    name: str
    """The DNS name in the certificate, which is the same for all pods."""

    @classmethod
    def read(cls, folder: Path, name: str) -> Certificates:
        """From `ca.crt`, `tls.crt` and `tls.key`, as cert-manager names them.

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
        """Those of a server that talks to nobody without a certificate."""
        pair = [(self.key, self.certificate)]
        return grpc.ssl_server_credentials(pair, self.authority, require_client_auth=True)

    def of_client(self) -> grpc.ChannelCredentials:
        return grpc.ssl_channel_credentials(self.authority, self.key, self.certificate)


@dataclass(frozen=True, slots=True)
class Credentials:
    """The token of a release, and its certificates if pods talk by TLS."""

    token: str = field(default="", repr=False)
    """Without one nothing is asked or shown, as in tests of a part."""
    certificates: Certificates | None = None

    @property
    def metadata(self) -> Metadata:
        """What goes with each call."""
        return bearer(self.token)

    def listen(self, server: grpc.aio.Server, address: str) -> int:
        """Have the server listen there; gives the port. Raises OSError that names the address."""
        try:
            if self.certificates is None:
                return server.add_insecure_port(address)
            return server.add_secure_port(address, self.certificates.of_server())
        except RuntimeError:
            why = "cannot be listened on: it is no address of this machine, or another program has it"
            if self.certificates is not None:
                why += ", or the certificates are damaged"
            raise OSError(errno.EADDRNOTAVAIL, why, address) from None

    def open(self, address: str, options: Sequence[tuple[str, Any]]) -> grpc.aio.Channel:
        """A channel to a program of the same release."""
        if self.certificates is None:
            return grpc.aio.insecure_channel(address, options=options)
        named = [*options, ("grpc.ssl_target_name_override", self.certificates.name)]
        return grpc.aio.secure_channel(address, self.certificates.of_client(), options=named)

    def showing(self, channel: grpc.aio.Channel, start: str = "") -> Any:
        """What a stub takes for the channel: each of its calls shows the token, and which start calls."""
        return _Showing(channel, self.metadata + (((START, start),) if start else ()))


def bearer(token: str) -> Metadata:
    """The metadata that shows a token."""
    return ((AUTHORIZATION, f"Bearer {token}"),) if token else ()


class _Showing:
    """The part of a channel that stubs use."""

    def __init__(self, channel: grpc.aio.Channel, metadata: Metadata) -> None:
        self._channel = channel
        self._metadata = metadata

    def unary_unary(self, *arguments: Any, **options: Any) -> Any:
        return partial(self._channel.unary_unary(*arguments, **options), metadata=self._metadata)

    def stream_stream(self, *arguments: Any, **options: Any) -> Any:
        return partial(self._channel.stream_stream(*arguments, **options), metadata=self._metadata)


OPEN = Credentials()
"""Nothing is asked or shown."""
