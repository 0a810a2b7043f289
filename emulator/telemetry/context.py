"""The operation that is being handled, carried by a runtime from message to message."""

from __future__ import annotations

from mypy_extensions import mypyc_attr


@mypyc_attr(acyclic=True)
class TraceContext:
    """The trace and the span from which the next message or timer of an operation comes."""

    __slots__ = ("began_ns", "depth", "event", "span_id", "topic", "trace_id")

    def __init__(
        self,
        trace_id: bytes,
        span_id: int,
        depth: int,
        topic: int | None,
        event: int = -1,
        began_ns: int = -1,
    ) -> None:
        self.trace_id = trace_id
        """The identifier of the trace, 16 bytes."""
        self.span_id = span_id
        self.depth = depth
        """The number of messages between the root span and this span; 0 at the root."""
        self.topic = topic
        """The topic that the operation is about; None if it is about none."""
        self.event = event
        """The number of the publication, if the operation is one; else -1."""
        self.began_ns = began_ns
        """The trial time in ns at which a peer was asked for the operation, -1 if that is not known."""

    def handled_in(self, span_id: int) -> TraceContext:
        """Return the context in which a message of this one is handled, in a span of its own."""
        return TraceContext(self.trace_id, span_id, self.depth + 1, self.topic, self.event, self.began_ns)
