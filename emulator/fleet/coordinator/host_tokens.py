"""Tokens of hosts: each start of a host's program has a token of its own, and its calls show it."""

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
from emulator.runtime.realtime.connecting import OPTIONS
from emulator.trust.credentials import START, Credentials
from emulator.trust.interceptor import answering
from emulator.trust.proof import digest, prove
from trellis.v1 import control_pb2, wire_pb2, wire_pb2_grpc

_OWN = ("AwaitStart", "Track", "ReportProgress", "Finish")
"""The methods that only the host itself may call for a host."""
_HOST = re.compile(r"host-[0-9]{1,5}")
_ADDRESS = re.compile(r"[A-Za-z0-9._:%\[\]-]{1,255}:[0-9]{1,5}")
_ANSWER_LIMIT = 1.0
"""The wall seconds in which a live host answers that it is alive."""


@dataclass(frozen=True, slots=True)
class _Speaker:
    """The start of a host's program that may speak for the host."""

    digest: bytes
    address: str
    """The address at which the host takes links of other hosts."""


class Speakers(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]
    """An interceptor of the coordinator's server that lets only a host itself speak for that host.

    The first program that registers as a host speaks for it. Another program may take over only when the
    first one is gone, so the coordinator asks at the address that it knows. A file keeps the speakers for a
    coordinator that is restarted.
    """

    def __init__(self, credentials: Credentials, file: Path | None = None) -> None:
        """Read the speakers from the file. Raises OSError if the file cannot be read, and DamagedFile."""
        self._credentials = credentials
        self._file = file
        self._handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}
        """The checked handlers by method name, made once because thousands of hosts report every few seconds.
        """
        self._known: dict[str, _Speaker] = {}
        if file is not None and file.exists():
            for line in file.read_bytes().split(b"\n")[:-1]:  # the last part is cut off
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
        """Return the method's handler, wrapped in a check of the caller."""
        handler = await continuation(handler_call_details)
        method = handler_call_details.method.rpartition("/")[2]
        if handler is None or (method != "Register" and method not in _OWN):
            return handler
        asking = self._handlers.get(method)
        if asking is None:
            asking = self._handlers[method] = self._asking(handler)
        return asking

    def _asking(self, handler: grpc.RpcMethodHandler[Any, Any]) -> grpc.RpcMethodHandler[Any, Any]:
        """Wrap a handler in a check that the caller may speak for the host."""
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

        return answering(handler, answer)

    def _refuse(self, host: str, shown: bytes) -> str:
        """Return why the start may not speak for the host, or ""."""
        known = self._known.get(host)
        if known is not None and hmac.compare_digest(known.digest, shown):
            return ""
        return f"another program speaks for {host[:40]!r}"

    async def _claim(self, host: str, caller: _Speaker) -> str:
        """Return why the caller may not take over to speak for the host, or ""."""
        if not _HOST.fullmatch(host):
            return f"no host {host[:40]!r}"
        if not _ADDRESS.fullmatch(caller.address):
            return f"no address {caller.address[:40]!r}"
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
        """Return whether exactly this start of the program still answers at its address."""
        question = secrets.token_bytes(16)
        try:
            async with self._credentials.open(speaker.address, OPTIONS) as channel:
                stub = wire_pb2_grpc.LinksStub(self._credentials.showing(channel))  # type: ignore[no-untyped-call]
                call = stub.Prove(wire_pb2.Question(question=question), timeout=_ANSWER_LIMIT)
                answer: wire_pb2.Proof = await asyncio.wait_for(call, 2 * _ANSWER_LIMIT)
        except (grpc.RpcError, TimeoutError, ValueError):
            return False
        return hmac.compare_digest(answer.proof, prove(speaker.digest, question))
