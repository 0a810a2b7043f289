"""Counts of the calls that the coordinator's gRPC service answers: requests, errors and duration."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio

from emulator.compact.durations import Distribution
from emulator.trust.interceptor import answering
from trellis.v1 import control_pb2

METHODS = tuple(method.name for method in control_pb2.DESCRIPTOR.services_by_name["Coordinator"].methods)
"""The methods of the service."""
_OTHER = "other"
"""The method of calls to what the service does not have, whose names strangers choose."""


class Requests(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]
    """Counts all calls, also those that another interceptor refuses."""

    def __init__(self) -> None:
        self.durations = {method: Distribution() for method in (*METHODS, _OTHER)}
        """The wall seconds of the calls by method. Calls that wait for other hosts take long."""
        self.ends: Counter[tuple[str, str]] = Counter()
        """The calls by method and status code, "OK" for instance."""

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any]]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any]:
        """Return the method's handler, which is counted as it ends."""
        name = handler_call_details.method.rpartition("/")[2]
        method = name if name in METHODS else _OTHER
        handler = await continuation(handler_call_details)
        if handler is None:  # gRPC refuses what the service does not have
            self.ends[method, grpc.StatusCode.UNIMPLEMENTED.name] += 1
            return handler
        answer: Any = handler.unary_unary or handler.stream_stream

        async def counted(request: Any, context: Any) -> Any:
            began = time.monotonic()
            code = grpc.StatusCode.CANCELLED  # the caller has gone
            try:
                answered = await answer(request, context)
                code = grpc.StatusCode.OK
                return answered
            except grpc.aio.AbortError:
                code = context.code()
                raise
            except Exception:
                code = grpc.StatusCode.UNKNOWN
                raise
            finally:
                self.durations[method].add(time.monotonic() - began)
                self.ends[method, code.name] += 1

        return answering(handler, counted)
