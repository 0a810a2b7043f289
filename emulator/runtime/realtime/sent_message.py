"""A message on its way, from the call that sends it to its handling or its end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final

from emulator.contract.mistakes import placed
from emulator.messages.message import Message
from emulator.runtime.realtime.rate_meter import Departure
from emulator.telemetry.context import TraceContext
from trellis.v1 import wire_pb2

_NAME_LIMIT: Final = 200
"""The most characters in the name of a channel or a message type."""
_TIME_LIMIT: Final = 1 << 62
"""The greatest trial time in ns of an envelope; with the trial's start it still fits into 64 bits."""
_TRACE_ID_BYTES: Final = 16
PROBE = ""
"""The type of an envelope without a message, which measures the delay."""


class Parcel:
    """A message and its bytes, which are encoded once, however many hosts the message goes to."""

    __slots__ = ("_payload", "message")

    def __init__(self, message: Message) -> None:
        self.message = message
        self._payload: bytes | None = None

    def payload(self) -> bytes:
        """Return the encoded message. Raises what a field raises whose value does not fit its type."""
        if self._payload is None:
            self._payload = self.message.encode()
        return self._payload


class Passage:
    """One message from one peer to another, as the sending host keeps it."""

    __slots__ = (
        "bounced",
        "bytes_back",
        "channel",
        "context",
        "damaged",
        "departure",
        "due_ns",
        "leave_by",
        "parcel",
        "receiver",
        "request",
        "sender",
        "sent_ns",
    )

    def __init__(
        self,
        sender: int,
        receiver: int,
        parcel: Parcel | None,
        channel: str,
        request: int,
        sent_ns: int,
        due_ns: int,
        context: TraceContext | None,
        bounced: bool = False,
        damaged: bool = False,
    ) -> None:
        self.sender = sender
        self.receiver = receiver
        self.parcel = parcel
        """The message, None for a probe and on the way back."""
        self.channel = channel
        """The channel of the component that sent the message."""
        self.request = request
        """The number of a request, the negative of the one that a reply answers, or 0."""
        self.sent_ns = sent_ns
        """The trial time at which the message was sent, in ns, as is `due_ns`, at which it arrives."""
        self.due_ns = due_ns
        self.context = context
        """The operation at the sender, None outside of any operation."""
        self.bounced = bounced
        """This is true if the message is on its way back to the sender, because the receiver was down."""
        self.bytes_back = -1
        """The bytes of a message that comes back because it found its receiver down, else -1."""
        self.damaged = damaged
        """This is true if a fault damages the message on its way, so that its receiver refuses it."""
        self.leave_by = 0.0
        """The monotonic time (s) until which it may wait for others that go to the same host."""
        self.departure: Departure | None = None
        """Its departure from its sender's up link, if the rate of that is measured."""

    def again(self) -> Passage:
        """Return another copy of the message."""
        return Passage(
            self.sender,
            self.receiver,
            self.parcel,
            self.channel,
            self.request,
            self.sent_ns,
            self.due_ns,
            self.context,
            self.bounced,
            self.damaged,
        )

    def encode(self, system: str, now: float) -> None:
        """Encode the message now. Raises what a field raises, with a note of the sender, this system and the
        trial time `now`."""
        if self.parcel is None:
            return
        try:
            self.parcel.payload()
        except Exception as error:
            doing = f"when its {self.parcel.message.NAME} to peer {self.receiver} was encoded"
            raise placed(error, system, self.sender, now, doing) from error.__cause__

    def add_to(self, batch: wire_pb2.Batch) -> None:
        """Append the envelope of this passage."""
        parcel = self.parcel
        envelope = batch.envelopes.add(
            sender=self.sender,
            receiver=self.receiver,
            type=PROBE if parcel is None else parcel.message.NAME,
            payload=b"" if parcel is None else parcel.payload(),
            sent_ns=self.sent_ns,
            due_ns=self.due_ns,
            bounced=self.bounced,
            channel=self.channel,
            request=self.request,
            damaged=self.damaged,
            size=max(self.bytes_back, 0),
        )
        context = self.context
        if context is not None:
            write_context(context, envelope.trace)


class Wire(ABC):
    """The interface of what takes messages to other hosts."""

    @abstractmethod
    def offer(self, host: int, passage: Passage) -> None:
        """Send without waiting. What cannot be sent goes to `Host.give_up` or is counted as dropped."""


def write_context(context: TraceContext, trace: wire_pb2.TraceContext) -> None:
    """Encode the sender's context; `depth` counts the message itself."""
    trace.trace_id = context.trace_id
    trace.span_id = context.span_id
    trace.depth = context.depth + 1
    if context.topic is not None:
        trace.topic = context.topic
    if context.event >= 0:
        trace.event = context.event
    if context.began_ns >= 0:
        trace.began_ns = context.began_ns


def read_context(envelope: wire_pb2.Envelope) -> TraceContext | None:
    """Return the sender's context of an envelope, None on maintenance traffic."""
    if not envelope.HasField("trace"):
        return None
    trace = envelope.trace
    return TraceContext(
        trace.trace_id,
        trace.span_id,
        trace.depth - 1,
        trace.topic if trace.HasField("topic") else None,
        trace.event if trace.HasField("event") else -1,
        trace.began_ns if trace.HasField("began_ns") else -1,
    )


def passage_of(envelope: wire_pb2.Envelope) -> Passage:
    """Return the passage of an envelope, without its message."""
    return Passage(
        envelope.sender,
        envelope.receiver,
        None,
        envelope.channel,
        envelope.request,
        envelope.sent_ns,
        envelope.due_ns,
        read_context(envelope),
        damaged=envelope.damaged,
    )


def fault_of(envelope: wire_pb2.Envelope, host_of: Sequence[int], own: int) -> str:
    """Return why the host of index `own` cannot use an envelope, or ""; `host_of` has each peer's host."""
    sender = envelope.sender
    if sender >= len(host_of) or (host_of[sender] == own) is not envelope.bounced:
        return "unknown sender"
    if len(envelope.type) > _NAME_LIMIT or len(envelope.channel) > _NAME_LIMIT:
        return "a name too long"
    if envelope.sent_ns >= _TIME_LIMIT or envelope.due_ns >= _TIME_LIMIT:
        return "a time out of range"
    if envelope.HasField("trace"):
        if len(envelope.trace.trace_id) != _TRACE_ID_BYTES:
            return "no trace's identifier"
        if envelope.trace.began_ns >= _TIME_LIMIT:
            return "a time out of range"
    return ""
