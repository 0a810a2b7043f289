"""A message on its way, from the send call to its handling or its end."""

from __future__ import annotations

from google.protobuf.message import Message
from trellis.v1 import wire_pb2

from emulator.telemetry.context import TraceContext

PROBE = ""
"""The type of an envelope without a message, which measures the way."""


class Passage:
    """One message from one peer to another, as the sending host keeps it."""

    __slots__ = (
        "bounced",
        "context",
        "due_ns",
        "message",
        "payload",
        "receiver",
        "sender",
        "sent_ns",
        "type",
    )

    def __init__(
        self,
        sender: int,
        receiver: int,
        message: Message | None,
        payload: bytes,
        type: str,
        sent_ns: int,
        due_ns: int,
        context: TraceContext | None,
        bounced: bool = False,
    ) -> None:
        self.sender = sender
        self.receiver = receiver
        self.message = message
        """None for a probe, and if only `payload` is at hand."""
        self.payload = payload
        """The message encoded."""
        self.type = type
        self.sent_ns = sent_ns
        """Trial time, like `due_ns`."""
        self.due_ns = due_ns
        self.context = context
        """The operation at the sender."""
        self.bounced = bounced
        """On its way back to the sender, because the receiver was down."""

    def add_to(self, batch: wire_pb2.Batch) -> None:
        """Append the envelope of this passage."""
        envelope = batch.envelopes.add(
            sender=self.sender,
            receiver=self.receiver,
            type=self.type,
            payload=self.payload,
            sent_ns=self.sent_ns,
            due_ns=self.due_ns,
            bounced=self.bounced,
        )
        context = self.context
        if context is not None:
            write_context(context, envelope.trace)


def write_context(context: TraceContext, trace: wire_pb2.TraceContext) -> None:
    """Encode the sender's context; `depth` counts the message itself."""
    trace.trace_id = context.trace_id
    trace.span_id = context.span_id
    trace.depth = context.depth + 1
    if context.topic is not None:
        trace.topic = context.topic
        trace.has_topic = True


def read_context(envelope: wire_pb2.Envelope) -> TraceContext | None:
    """The sender's context of an envelope, None on maintenance traffic."""
    if not envelope.HasField("trace"):
        return None
    trace = envelope.trace
    topic = trace.topic if trace.has_topic else None
    return TraceContext(trace.trace_id, trace.span_id, trace.depth - 1, topic)
