"""The gate before a Collector: each host may send its own telemetry of a trial, and nothing else.

A host shows the ticket that the coordinator gave it. The origin that a request names must be the ticket's;
the request is passed on as it came. Programs of the release show a token instead, with spans and logs of
themselves; these go to another port of the Collector, which keeps them apart from the trials.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from emulator.telemetry import names
from emulator.telemetry.exporter import METHODS
from emulator.tracing import spans
from emulator.trust.credentials import AUTHORIZATION, Credentials
from emulator.trust.refusals import BAD_TOKEN
from emulator.trust.strangers import Strangers
from emulator.trust.tickets import read_ticket

_LONGEST = 16 << 20
"""The most bytes of a request; what a host has queued is at most half of it."""
_AT_ONCE = 128
"""The most requests under way; the senders of further ones are told to come again."""
_DEADLINE = 15.0
"""The seconds that the Collector has for a request."""
_LOGS = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
_SCHEME = "Bearer "
_BYTES = 2
"""The wire type of fields that have a length. See protobuf.dev/programming-guides/encoding."""
_FIXED = {1: 8, 5: 4}
_LARGEST_FIELD = (1 << 29) - 1
"""The greatest number of a field; a reader that truncates a larger one would see another field."""


class NotTheirs(ValueError):
    """A request names another origin than its sender."""


@dataclass(frozen=True, slots=True)
class ProgramsDoor:
    """The way by which programs of the release send spans and logs of themselves."""

    channel: grpc.aio.Channel
    """The channel to the Collector's port for them, of `open_collector`."""
    token: str = field(repr=False)

    def opens(self, shown: str) -> bool:
        """Return whether the token was shown; the time of the check tells nothing of it."""
        return hmac.compare_digest(shown.encode(), self.token.encode())


async def serve_gate(
    listen: str,
    collector: str,
    key: str,
    credentials: Credentials,
    programs: ProgramsDoor | None = None,
    strangers: Strangers | None = None,
) -> tuple[grpc.aio.Server, grpc.aio.Channel, int]:
    """Start the gate to the Collector at `collector`. Returns the server, the channel and the port.

    The caller closes server and channel. Without `programs` only hosts may send. `strangers` counts what is
    refused. Raises OSError if the address cannot be bound.
    """
    options = [("grpc.max_receive_message_length", _LONGEST), ("grpc.so_reuseport", 0), *credentials.bounds]
    channel = open_collector(collector)
    strangers = strangers or Strangers()
    server = grpc.aio.server(options=options, maximum_concurrent_rpcs=_AT_ONCE)
    answers = {
        method: _Answer(key, strangers, channel.unary_unary(method, None, None))
        for method in METHODS.values()
    }
    if programs is not None:
        answers[_LOGS] = _Answer(key, strangers)
        for method in (METHODS["traces"], _LOGS):
            answers[method].admit(programs, programs.channel.unary_unary(method, None, None))
    for method, answer in answers.items():
        service, _, name = method.strip("/").partition("/")
        handler = grpc.stream_unary_rpc_method_handler(answer.give)
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, {name: handler})])
    port = credentials.listen(server, listen)
    await server.start()
    credentials.guard(strangers, port)
    return server, channel, port


def open_collector(collector: str) -> grpc.aio.Channel:
    """Return a channel to a Collector. It has to be made where a loop of asyncio runs."""
    return grpc.aio.insecure_channel(
        collector,
        options=[
            ("grpc.max_send_message_length", _LONGEST),
            ("grpc.initial_reconnect_backoff_ms", 250),
            ("grpc.max_reconnect_backoff_ms", 2000),
        ],
    )


Export = Callable[..., Awaitable[bytes]]


class _Answer:
    """A handler of single messages as a stream, to read ticket or token before the message."""

    def __init__(self, key: str, strangers: Strangers, export: Export | None = None) -> None:
        """Hosts with a ticket may send by `export`, if there is one."""
        self._export = export
        self._key = key
        self._strangers = strangers
        self._programs: tuple[ProgramsDoor, Export] | None = None

    def admit(self, programs: ProgramsDoor, export: Export) -> None:
        """Pass on what programs of the release send."""
        self._programs = programs, export

    async def give(self, requests: AsyncIterator[bytes], context: Any) -> bytes:
        shown = str(dict(context.invocation_metadata()).get(AUTHORIZATION, "")).removeprefix(_SCHEME)
        if self._programs is not None and self._programs[0].opens(shown):
            self._strangers.admit(context.peer())
            return await _passed_on(self._programs[1], await anext(aiter(requests), b""), context)
        of = read_ticket(self._key, shown, time.time())
        if of is None or self._export is None:
            self._strangers.refusals.add(BAD_TOKEN)
            why = "the request does not show a ticket of this release's coordinator that still holds"
            await _refuse(grpc.StatusCode.UNAUTHENTICATED, why, context)
            raise AssertionError
        self._strangers.admit(context.peer())
        request = await anext(aiter(requests), b"")
        try:
            refuse_others(request, *of)
        except NotTheirs as error:
            self._strangers.refusals.add(BAD_TOKEN)
            await _refuse(grpc.StatusCode.PERMISSION_DENIED, str(error), context)
        return await _passed_on(self._export, request, context)


async def _passed_on(export: Export, request: bytes, context: Any) -> bytes:
    try:
        return await export(request, timeout=_DEADLINE)
    except grpc.aio.AioRpcError as error:
        await _refuse(error.code(), error.details() or "", context)
        raise AssertionError from None


async def _refuse(code: grpc.StatusCode, why: str, context: Any) -> None:
    """Refuse a request, and tell operators from where it came and why it was refused."""
    now = time.time_ns()
    about = {"client.address": str(context.peer()), "rpc.grpc.status_code": code.name}
    spans.record("refuse telemetry", now, now, about, error=why)
    await context.abort(code, why)


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
