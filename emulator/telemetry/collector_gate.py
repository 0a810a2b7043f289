"""The gate before a Collector: each host may send its own telemetry of a trial, and nothing else.

A host shows the ticket that the coordinator gave it. The origin that a request names must be the ticket's;
the request is passed on as it came.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from emulator.telemetry import names
from emulator.telemetry.exporter import METHODS
from emulator.trust.credentials import AUTHORIZATION, Credentials
from emulator.trust.tickets import read_ticket

_LONGEST = 16 << 20
"""The most bytes of a request; what a host has queued is at most half of it."""
_AT_ONCE = 128
"""The most requests under way; the senders of further ones are told to come again."""
_DEADLINE = 15.0
"""The seconds that the Collector has for a request."""
_SCHEME = "Bearer "
_BYTES = 2
"""The wire type of fields that have a length. See protobuf.dev/programming-guides/encoding."""
_FIXED = {1: 8, 5: 4}
_LARGEST_FIELD = (1 << 29) - 1
"""The greatest number of a field; a reader that truncates a larger one would see another field."""


class NotTheirs(ValueError):
    """A request names another origin than its sender."""


async def serve_gate(
    listen: str, collector: str, key: str, credentials: Credentials
) -> tuple[grpc.aio.Server, grpc.aio.Channel, int]:
    """Start the gate to the Collector at `collector`. Returns the server, the channel and the port.

    The caller closes server and channel. Raises OSError if the address cannot be bound.
    """
    options = [("grpc.max_receive_message_length", _LONGEST), ("grpc.so_reuseport", 0), *credentials.bounds]
    channel = grpc.aio.insecure_channel(
        collector,
        options=[
            ("grpc.max_send_message_length", _LONGEST),
            ("grpc.initial_reconnect_backoff_ms", 250),
            ("grpc.max_reconnect_backoff_ms", 2000),
        ],
    )
    server = grpc.aio.server(options=options, maximum_concurrent_rpcs=_AT_ONCE)
    for method in METHODS.values():
        service, _, name = method.strip("/").partition("/")
        handler = grpc.stream_unary_rpc_method_handler(_passing(channel.unary_unary(method, None, None), key))
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, {name: handler})])
    port = credentials.listen(server, listen)
    await server.start()
    return server, channel, port


def _passing(export: Callable[..., Any], key: str) -> Callable[..., Any]:
    """Return a handler of single messages as a stream, to read the ticket before the message."""

    async def answer(requests: AsyncIterator[bytes], context: Any) -> bytes:
        shown = str(dict(context.invocation_metadata()).get(AUTHORIZATION, ""))
        of = read_ticket(key, shown.removeprefix(_SCHEME), time.time())
        if of is None:
            why = "the request does not show a ticket of this release's coordinator that still holds"
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, why)
            raise AssertionError
        request = await anext(aiter(requests), b"")
        try:
            refuse_others(request, *of)
        except NotTheirs as error:
            await context.abort(grpc.StatusCode.PERMISSION_DENIED, str(error))
        try:
            reply: bytes = await export(request, timeout=_DEADLINE)
        except grpc.aio.AioRpcError as error:
            await context.abort(error.code(), error.details() or "")
        return reply

    return answer


def refuse_others(request: bytes, trial: str, host: str) -> None:
    """Raises NotTheirs unless everything in the request is of this host and trial."""
    try:
        for part in _fields(request, 1):
            resources = [Resource.FromString(each) for each in _fields(part, 1)]
            told = [(a.key, a.value.string_value) for each in resources for a in each.attributes]
            for key, own in ((names.TRIAL, trial), (names.HOST, host)):
                values = [value for name, value in told if name == key]
                if not values or any(value != own for value in values):
                    raise NotTheirs(f"the ticket is for {key} {own}, the telemetry is not")
    except (DecodeError, IndexError) as error:
        raise NotTheirs(f"the request is no telemetry: {error}") from None


def _fields(message: bytes, number: int) -> Iterator[bytes]:
    """Yield the fields of this number that have a length.

    Raises DecodeError and IndexError if the bytes are no message.
    """
    at, end = 0, len(message)
    while at < end:
        tag, at = _varint(message, at)
        kind = tag & 7
        if not 0 < tag >> 3 <= _LARGEST_FIELD:
            raise DecodeError("no field has this number")
        if kind == 0:
            _, at = _varint(message, at)
        elif kind == _BYTES:
            size, at = _varint(message, at)
            if at + size > end:
                raise DecodeError("it ends early")
            if tag >> 3 == number:
                yield message[at : at + size]
            at += size
        elif kind in _FIXED:
            at += _FIXED[kind]
        else:
            raise DecodeError("it has a group")
    if at > end:
        raise DecodeError("it ends early")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise DecodeError("a number is too long")
