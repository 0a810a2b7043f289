"""The events of a world on a virtual clock."""

from __future__ import annotations

from typing import Final

from emulator.messages.message import Message
from emulator.runtime.peer_channels import Channel
from emulator.runtime.virtual.event_queue import Entry
from emulator.runtime.virtual.life import VirtualLife, VirtualTimer
from emulator.telemetry.context import TraceContext

NOT_BEFORE: Final = -1
"""The message has passed all links, or there are none."""


class Arrival(Entry):
    """The event that a message reaches a peer, or that its last bit reaches the peer's down link."""

    __slots__ = ("channel", "context", "message", "reaches", "receiver", "request", "sent", "void")

    def __init__(
        self,
        at: float,
        order: int,
        receiver: int,
        message: Message,
        channel: Channel,
        request: int,
        sent: float,
        context: TraceContext | None,
    ) -> None:
        self.at = at
        self.order = order
        self.receiver = receiver
        self.message = message
        self.channel = channel
        """The sender's channel."""
        self.request = request
        self.sent = sent
        self.context = context
        self.reaches = NOT_BEFORE
        """The exact time, in units of the links, at which it reaches a down link, else `NOT_BEFORE`."""
        self.void = False
        """This is true if another event has taken the place of this one."""

    def again(self, at: float, order: int) -> Arrival:
        """Return the event that another copy of the message arrives."""
        return Arrival(
            at, order, self.receiver, self.message, self.channel, self.request, self.sent, self.context
        )


class Spoilt(Arrival):
    """The event that a message arrives damaged."""

    __slots__ = ()

    def __init__(self, sound: Arrival) -> None:
        super().__init__(
            sound.at,
            sound.order,
            sound.receiver,
            sound.message,
            sound.channel,
            sound.request,
            sound.sent,
            sound.context,
        )


class Handled(Entry):
    """The event that its receiver, which handles one message after the other, is done with a message."""

    __slots__ = ("arrival", "life", "stood")

    def __init__(self, at: float, order: int, arrival: Arrival, life: VirtualLife, stood: int) -> None:
        self.at = at
        self.order = order
        self.arrival = arrival
        self.life = life
        """The life of the receiver that the message reached."""
        self.stood = stood
        """The time (ns) for which the receiver had stood still when `at` was set."""


class Flight:
    """A message in its sender's shared up link, with the time (ns) of its way after that."""

    __slots__ = ("arrival", "twin", "way_ns")

    def __init__(self, arrival: Arrival, way_ns: int, twin: Arrival | None) -> None:
        self.arrival = arrival
        self.way_ns = way_ns
        self.twin = twin
        """The second copy that arrives, if a fault doubles the message."""


class Departure(Entry):
    """The event that a message may have gone through a shared link."""

    __slots__ = ("instant", "link")

    def __init__(self, at: float, order: int, link: int, instant: int) -> None:
        self.at = at
        self.order = order
        self.link = link
        """The number of the link."""
        self.instant = instant
        """The exact time, in parts of the links."""


class Call(Entry):
    """The event that a timer falls due."""

    __slots__ = ("timer",)

    def __init__(self, at: float, order: int, timer: VirtualTimer) -> None:
        self.at = at
        self.order = order
        self.timer = timer

    def is_void(self) -> bool:
        return self.timer.callback is None
