"""Who speaks for which host: each start of a host's program has a token of its own, which its calls show."""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from emulator.files.damage import DamagedFile
from emulator.runtime.realtime.streams import OPTIONS
from emulator.trust.credentials import START, Credentials
from emulator.trust.proof import digest, prove
from trellis.v1 import control_pb2, wire_pb2, wire_pb2_grpc

_OWN = ("AwaitStart", "Track", "ReportProgress", "Finish")
"""Methods that a host calls for itself."""
_HOST = re.compile(r"host-[0-9]{1,5}")
_ANSWER_LIMIT = 1.0
"""Wall seconds in which a host that lives answers whether it does."""


@dataclass(frozen=True, slots=True)
class _Speaker:
    """The start of a host that may speak for it."""

    digest: bytes
    address: str
    """Of its links."""


class Speakers(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]
    """Lets a host speak for itself alone, at the coordinator's door.

    The first program that registers as a host speaks for it. Another one does only when the first is gone:
    the coordinator asks at the address that it knows. What it knows outlives it in a file.
    """

    def __init__(self, credentials: Credentials, file: Path | None = None) -> None:
        """Raises OSError if the file is there and cannot be read, DamagedFile."""
        self._credentials = credentials
        self._file = file
        self._handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}
        """By the method's name: made once, because thousands of hosts report every few seconds."""
        self._known: dict[str, _Speaker] = {}
        if file is not None and file.exists():
            for line in file.read_bytes().split(b"\n")[:-1]:  # what has no end was not written whole
                try:
                    entry = json.loads(line)
                    self._known[entry["host"]] = _Speaker(bytes.fromhex(entry["digest"]), entry["address"])
                except (ValueError, TypeError, KeyError, RecursionError):
                    mend = "Remove it: hosts that live then take their places again"
                    raise DamagedFile(f"{file} is damaged: it does not say who speaks. {mend}") from None

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any]]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any]:
        """The method's handler, behind the question who calls."""
        handler = await continuation(handler_call_details)
        method = handler_call_details.method.rpartition("/")[2]
        if handler is None or (method != "Register" and method not in _OWN):
            return handler
        asking = self._handlers.get(method)
        if asking is None:
            asking = self._handlers[method] = self._asking(handler)
        return asking

    def _asking(self, handler: grpc.RpcMethodHandler[Any, Any]) -> grpc.RpcMethodHandler[Any, Any]:
        """The handler, behind the question who calls."""
        inner = handler.unary_unary
        assert inner is not None

        async def answer(request: Any, context: Any) -> Any:
            start = next((value for key, value in context.invocation_metadata() if key == START), "")
            if not isinstance(start, str) or not start:
                why = "the call does not show a start token"
                await context.abort(grpc.StatusCode.UNAUTHENTICATED, why)
                raise AssertionError
            shown = digest(start)
            if isinstance(request, control_pb2.Registration):
                why = await self._claim(request.host, _Speaker(shown, request.address))
            else:
                why = self._refuse(request.host, shown)
            if why:
                await context.abort(grpc.StatusCode.PERMISSION_DENIED, why)
            return await inner(request, context)

        return grpc.unary_unary_rpc_method_handler(
            answer, handler.request_deserializer, handler.response_serializer
        )

    def _refuse(self, host: str, shown: bytes) -> str:
        """Why the start may not speak for the host, or ""."""
        known = self._known.get(host)
        if known is not None and hmac.compare_digest(known.digest, shown):
            return ""
        return f"another program speaks for {host[:40]!r}"

    async def _claim(self, host: str, caller: _Speaker) -> str:
        """Why the caller may not begin to speak for the host, or ""."""
        if not _HOST.fullmatch(host):
            return f"no host {host[:40]!r}"
        known = self._known.get(host)
        if known is not None and not hmac.compare_digest(known.digest, caller.digest):
            if await self._lives(known):
                print(f"refused another program that calls itself {host}, at {caller.address}", flush=True)
                return f"{host} lives at {known.address}, and this is another program"
            if self._known.get(host) is not known:
                return f"another program has just begun to speak for {host}"
        if known != caller:
            self._known[host] = caller
            self._keep(host, caller)
        return ""

    def _keep(self, host: str, speaker: _Speaker) -> None:
        if self._file is None:
            return
        entry = {"host": host, "digest": speaker.digest.hex(), "address": speaker.address}
        with self._file.open("a") as file:
            file.write(json.dumps(entry) + "\n")

    async def _lives(self, speaker: _Speaker) -> bool:
        """Whether the very start still answers at its address."""
        question = secrets.token_bytes(16)
        try:
            async with self._credentials.open(speaker.address, OPTIONS) as channel:
                stub = wire_pb2_grpc.LinksStub(self._credentials.showing(channel))  # type: ignore[no-untyped-call]
                call = stub.Prove(wire_pb2.Question(question=question), timeout=_ANSWER_LIMIT)
                answer: wire_pb2.Proof = await asyncio.wait_for(call, 2 * _ANSWER_LIMIT)
        except (grpc.RpcError, TimeoutError, ValueError):
            return False
        return hmac.compare_digest(answer.proof, prove(speaker.digest, question))
