"""Event dissemination: notification, then pull (Vitis, section III.C).

A notification floods over the links that the system names; who receives the first one pulls the
event from its sender. Both happen at once: the notification goes on while the pull is under way, and
a peer that is asked for an event that it still waits for answers when it has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from google.protobuf.message import Message
from trellis.v1.pubsub_pb2 import EventData, Notification, Pull

from emulator.protocol import Environment, Event, Handler, Timer

_REMEMBERED_EVENTS = 10_000
_PULLS = 4
"""How often an event is pulled before it is given up."""


class _Held:
    """What this peer has of an event."""

    __slots__ = ("asked", "event", "pulls", "sources", "timer", "waiting")

    def __init__(self) -> None:
        self.event: Event | None = None
        """Whole; the message that brought it takes twice as much memory."""
        self.asked: int | None = None
        self.pulls = 0
        self.sources: list[int] = []
        """Others that notified this peer, to ask if the one that was asked does not answer."""
        self.waiting: list[int] = []
        """Those who asked before the event was here."""
        self.timer: Timer | None = None


class Dissemination:
    """The events that pass through one peer."""

    def __init__(
        self,
        environment: Environment,
        *,
        targets: Callable[[int], Iterable[int]],
        interested: Callable[[int], bool],
        pull_timeout: float,
    ) -> None:
        """`targets` names the peers to notify of a topic's event; `pull_timeout` in seconds."""
        self._environment = environment
        self._targets = targets
        self._interested = interested
        self._pull_timeout = pull_timeout
        self._held: dict[int, _Held] = {}

    def handlers(self) -> dict[type[Message], Handler]:
        return {Notification: self._on_notification, Pull: self._on_pull, EventData: self._on_event}

    def publish(self, data: EventData) -> None:
        """Bring in an event that this peer has whole: its own, or one routed to it."""
        held = self._remember(data.event)
        if held.event is None:
            self._notify(data.event, data.topic, data.publisher, data.hops + 1, sender=None)
            self._take(held, data)

    def on_unreachable(self, peer: int) -> None:
        """Pull from another source what was asked of `peer`."""
        for event, held in self._held.items():
            if held.event is None and held.asked == peer:
                self._pull_elsewhere(event, held)

    def _on_notification(self, sender: int, message: Notification) -> None:
        event = message.event
        known = self._held.get(event)
        if known is not None:
            if known.event is None:
                known.sources.append(sender)
                if known.asked is None:
                    self._pull_elsewhere(event, known)
            return
        held = self._remember(event)
        self._pull(event, held, sender)
        self._notify(event, message.topic, message.publisher, message.hops + 1, sender)

    def _on_pull(self, sender: int, message: Pull) -> None:
        held = self._held.get(message.event)
        if held is None:
            return
        if held.event is None:
            held.waiting.append(sender)
        else:
            self._environment.send(sender, _onward(held.event))

    def _on_event(self, sender: int, message: EventData) -> None:
        held = self._remember(message.event)
        if held.event is None:
            self._take(held, message)

    def _take(self, held: _Held, data: EventData) -> None:
        event = held.event = Event(
            data.event, data.publisher, data.topic, payload=data.payload, hops=data.hops
        )
        if held.timer is not None:
            held.timer.cancel()
            held.timer = None
        held.sources.clear()
        if self._interested(data.topic):
            self._environment.deliver(event)
        if held.waiting:
            onward = _onward(event)
            for peer in held.waiting:
                self._environment.send(peer, onward)
            held.waiting.clear()

    def _notify(self, event: int, topic: int, publisher: int, hops: int, sender: int | None) -> None:
        notification = Notification(event=event, topic=topic, publisher=publisher, hops=hops)
        for peer in self._targets(topic):
            if peer != sender:
                self._environment.send(peer, notification)

    def _pull(self, event: int, held: _Held, source: int) -> None:
        held.asked = source
        held.pulls += 1
        self._environment.send(source, Pull(event=event))
        held.timer = self._environment.set_timer(
            self._pull_timeout, lambda: self._pull_again(event, held, source)
        )

    def _pull_again(self, event: int, held: _Held, silent: int) -> None:
        """From another source if there is one: an answer may be lost, or on a long way."""
        if held.pulls < _PULLS:
            held.sources.append(silent)
        self._pull_elsewhere(event, held)

    def _pull_elsewhere(self, event: int, held: _Held) -> None:
        if held.timer is not None:
            held.timer.cancel()
            held.timer = None
        held.asked = None
        if held.event is None and held.sources:
            self._pull(event, held, held.sources.pop(0))

    def _remember(self, event: int) -> _Held:
        held = self._held.get(event)
        if held is None:
            held = self._held[event] = _Held()
            if len(self._held) > _REMEMBERED_EVENTS:
                del self._held[next(iter(self._held))]
        return held


def _onward(event: Event) -> EventData:
    """The event for those who pull it from here, one hop further."""
    return EventData(
        event=event.number,
        topic=event.topic,
        publisher=event.publisher,
        hops=event.hops + 1,
        payload=event.payload,
    )
