"""Event dissemination: notification, then pull (Vitis, section III.C).

A notification floods over the links that the system names; a peer that receives its first one pulls the event
from the sender. Both happen at once: the notification goes on while the pull is under way, and a peer that is
asked for an event that it still waits for answers when it has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from emulator.contract.protocol import Environment, Event, Timer
from trellis.v1.pubsub import EventData, Notification, Pull

_REMEMBERED_EVENTS: Final = 10_000
_PULLS: Final = 4
"""A peer that did not answer this many pulls of an event is not asked again."""
_NOBODY: Final = -1

V = TypeVar("V")


class _Awaited:
    """An event that this peer was notified of and does not have yet."""

    __slots__ = ("asked", "pulls", "sources", "timer", "waiting")

    def __init__(self) -> None:
        self.asked = _NOBODY
        self.pulls = 0
        self.sources: list[int] = []
        """The peers that notified this one and were not asked yet, or are to be asked again."""
        self.waiting: list[int] = []
        """The peers that asked this one for the event."""
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
        """`targets` returns the peers to notify of a topic's event; `pull_timeout` is in seconds."""
        self._environment = environment
        self._targets = targets
        self._interested = interested
        self._pull_timeout = pull_timeout
        self._here: dict[int, EventData] = {}
        """The events that this peer has, as it sends them to peers that pull them."""
        self._awaited: dict[int, _Awaited] = {}
        environment.handle(Notification, self._on_notification)
        environment.handle(Pull, self._on_pull)
        environment.handle(EventData, self._on_event)

    def publish(self, data: EventData) -> None:
        """Disseminate an event that this peer has whole: its own, or one routed to it."""
        if data.event in self._here:
            return
        if data.event not in self._awaited:
            self._notify(Notification(data.event, data.topic, data.publisher, data.hops + 1), _NOBODY)
        self._on_event(_NOBODY, data)

    def on_unreachable(self, peer: int) -> None:
        """Pull from another source what `peer` was asked for."""
        for event, awaited in self._awaited.items():
            if awaited.asked == peer:
                self._pull(event, awaited)

    def _on_notification(self, sender: int, message: Notification) -> None:
        event = message.event
        if event in self._here:
            return
        awaited = self._awaited.get(event)
        if awaited is not None:
            awaited.sources.append(sender)
            if awaited.asked == _NOBODY:
                self._pull(event, awaited)
            return
        awaited = self._awaited[event] = _Awaited()
        forgotten = _forget_oldest(self._awaited)
        if forgotten is not None and forgotten.timer is not None:
            forgotten.timer.cancel()
        awaited.sources.append(sender)
        self._pull(event, awaited)
        onward = Notification(event, message.topic, message.publisher, message.hops + 1)
        self._notify(onward, sender)

    def _notify(self, notification: Notification, sender: int) -> None:
        for peer in self._targets(notification.topic):
            if peer != sender:
                self._environment.send(peer, notification)

    def _pull(self, event: int, awaited: _Awaited) -> None:
        """Ask the next source for the event; without one, the next peer that notifies will be asked."""
        if awaited.timer is not None:
            awaited.timer.cancel()
            awaited.timer = None
        if not awaited.sources:
            awaited.asked = _NOBODY
            return
        awaited.asked = awaited.sources.pop(0)
        awaited.pulls += 1
        self._environment.send(awaited.asked, Pull(event))
        awaited.timer = self._environment.set_timer(
            self._pull_timeout, lambda: self._pull_again(event, awaited)
        )

    def _pull_again(self, event: int, awaited: _Awaited) -> None:
        """Pull from the next source, because no answer came in time.

        The silent one may be asked again later.
        """
        if awaited.pulls < _PULLS:
            awaited.sources.append(awaited.asked)
        self._pull(event, awaited)

    def _on_pull(self, sender: int, message: Pull) -> None:
        data = self._here.get(message.event)
        if data is not None:
            self._environment.send(sender, data)
            return
        awaited = self._awaited.get(message.event)
        if awaited is not None and sender not in awaited.waiting:
            awaited.waiting.append(sender)

    def _on_event(self, sender: int, data: EventData) -> None:
        if data.event in self._here:
            return
        onward = EventData(data.event, data.topic, data.publisher, data.hops + 1, data.payload)
        self._here[data.event] = onward
        _forget_oldest(self._here)
        if self._interested(data.topic):
            self._environment.deliver(
                Event(data.event, data.publisher, data.topic, payload=data.payload, hops=data.hops)
            )
        awaited = self._awaited.pop(data.event, None)
        if awaited is not None:
            if awaited.timer is not None:
                awaited.timer.cancel()
            for peer in awaited.waiting:
                self._environment.send(peer, onward)


def _forget_oldest(events: dict[int, V]) -> V | None:
    """Drop the oldest event if there are more than are remembered, and return what was kept of it."""
    return events.pop(next(iter(events))) if len(events) > _REMEMBERED_EVENTS else None
