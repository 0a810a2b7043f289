"""An interceptor of a gRPC server that refuses calls that do not show the right token."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

import grpc
import grpc.aio

from emulator.trust.credentials import AUTHORIZATION

_SCHEME = "Bearer "


async def _refuse(requests: Any, context: Any) -> None:
    why = "the call does not show the token of this release"
    await context.abort(grpc.StatusCode.UNAUTHENTICATED, why)


_REFUSAL: grpc.RpcMethodHandler[Any, Any] = grpc.stream_stream_rpc_method_handler(_refuse)
"""The handler that ends a call of any kind before a message of it has been read."""


class Door(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]
    """Asks each call for one of the tokens that its method accepts."""

    def __init__(self, tokens: Mapping[str, Collection[str]]) -> None:
        """`tokens` are by the last part of the method's name; "" is for all methods that are not named."""
        self._shown = {name: [(_SCHEME + token).encode() for token in each] for name, each in tokens.items()}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any]]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any]:
        """Return the method's handler, or one that refuses."""
        method = handler_call_details.method.rpartition("/")[2]
        for key, value in handler_call_details.invocation_metadata or ():
            if key == AUTHORIZATION:
                shown = value.encode() if isinstance(value, str) else value
                # the time of the comparison tells nothing of the token
                if any(hmac.compare_digest(shown, right) for right in self._right(method)):
                    return await continuation(handler_call_details)
        return _REFUSAL

    def _right(self, method: str) -> Sequence[bytes]:
        return self._shown.get(method, self._shown.get("", ()))
