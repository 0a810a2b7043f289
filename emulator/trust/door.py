"""The door of a gRPC server: calls that do not show the right token do not come in."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

import grpc
import grpc.aio

from emulator.trust.credentials import AUTHORIZATION

_SCHEME = "Bearer "


def shows(metadata: Mapping[str, str | bytes], token: str) -> bool:
    """Whether a call's metadata has the token; how long that takes tells nothing of it."""
    shown = metadata.get(AUTHORIZATION, "")
    shown = shown.encode() if isinstance(shown, str) else shown
    return hmac.compare_digest(shown, (_SCHEME + token).encode())


def refusal(status: grpc.StatusCode, why: str) -> grpc.RpcMethodHandler[Any, Any]:
    """Ends a call of any kind before a message of it has been read."""

    async def refuse(requests: Any, context: Any) -> None:
        await context.abort(status, why)

    return grpc.stream_stream_rpc_method_handler(refuse)


class Door(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]
    """Asks each call for one of the tokens that its method takes."""

    def __init__(self, tokens: Mapping[str, Collection[str]]) -> None:
        """Tokens by the last part of the method's name; "" is for all that are not named."""
        self._tokens = tokens

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any]]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any]:
        """The method's handler, or one that refuses."""
        method = handler_call_details.method.rpartition("/")[2]
        metadata = dict(handler_call_details.invocation_metadata or ())
        tokens = self._tokens.get(method, self._tokens.get("", ()))
        if not any(shows(metadata, token) for token in tokens):
            why = "the call does not show the token of this release"
            return refusal(grpc.StatusCode.UNAUTHENTICATED, why)
        return await continuation(handler_call_details)
