"""An interceptor of a gRPC server that refuses calls that do not show the right token."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

import grpc
import grpc.aio

from emulator.trust.credentials import AUTHORIZATION
from emulator.trust.refusals import BAD_TOKEN
from emulator.trust.strangers import Strangers

_SCHEME = "Bearer "


def answering(handler: grpc.RpcMethodHandler[Any, Any], answer: Any) -> grpc.RpcMethodHandler[Any, Any]:
    """Return a handler of the same kind, of one message or a stream, that answers by another function."""
    made: Any = grpc.stream_stream_rpc_method_handler
    if handler.unary_unary is not None:
        made = grpc.unary_unary_rpc_method_handler
    wrapped: grpc.RpcMethodHandler[Any, Any] = made(
        answer, handler.request_deserializer, handler.response_serializer
    )
    return wrapped


class Door(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]
    """Asks each call for one of the tokens that its method accepts."""

    def __init__(self, tokens: Mapping[str, Collection[str]], strangers: Strangers | None = None) -> None:
        """`tokens` are by the last part of the method's name; "" is for all methods that are not named.

        `strangers` learns which callers are none, and counts what is refused.
        """
        self._strangers = strangers or Strangers()
        self._handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}
        """The handlers that admit their callers by method name, made once because hosts call all the time."""
        self._refusal: grpc.RpcMethodHandler[Any, Any] = grpc.stream_stream_rpc_method_handler(self._refuse)
        """The handler that ends a call of any kind before a message of it has been read."""
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
                    handler = await continuation(handler_call_details)
                    return handler if handler is None else self._admitting(method, handler)
        return self._refusal

    def _admitting(
        self, method: str, handler: grpc.RpcMethodHandler[Any, Any]
    ) -> grpc.RpcMethodHandler[Any, Any]:
        """Return a handler that notes who calls, and answers as the other does."""
        if method in self._handlers:
            return self._handlers[method]
        answer: Any = handler.unary_unary or handler.stream_stream

        async def admitted(request: Any, context: Any) -> Any:
            self._strangers.admit(context.peer())
            return await answer(request, context)

        self._handlers[method] = answering(handler, admitted)
        return self._handlers[method]

    async def _refuse(self, requests: Any, context: Any) -> None:
        self._strangers.refusals.add(BAD_TOKEN)
        why = "the call does not show the token of this release"
        await context.abort(grpc.StatusCode.UNAUTHENTICATED, why)

    def _right(self, method: str) -> Sequence[bytes]:
        return self._shown.get(method, self._shown.get("", ()))
