"""Publishing over a topic's home: how events get to it, and past each peer of its tree once.

The home (Scribe: the root) is the peer that the overlay leads to from the hash of a topic. A publisher that
knows the home sends straight to it, as in Scribe (section III.C); another one routes the event, and the home
tells it who it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from emulator.contract.identifiers import hash_of_topic
from emulator.contract.protocol import Environment, Event, Overlay
from emulator.contract.recent import Newest
from trellis.v1.pubsub import EventData
from trellis.v1.scribe import Multicast, RootAddress

NOBODY: Final = -1
_REMEMBERED_EVENTS: Final = 10_000
_KNOWN_HOMES: Final = 10_000
_PATIENCE: Final = 10
"""The seconds for which a publication waits until its publisher has joined the overlay."""


class HomePublishing:
    """The part of one peer: as publisher, as home, and as part of the trees below homes."""

    def __init__(
        self,
        environment: Environment,
        overlay: Overlay,
        confirm_timeout: float,
        wanted: Collection[int],
        home_in_tree: Callable[[int], int],
        send_down: Callable[[EventData, int], None],
    ) -> None:
        """The home has `confirm_timeout` seconds to confirm an event; after that the event is routed.

        `wanted` are the topics that the peer subscribes to, as they change. `home_in_tree` returns a topic's
        home, which may be the peer itself, if this peer's tree tells it, and NOBODY otherwise. `send_down`
        sends an event on to the children in its topic's tree; its last argument is the peer that the event
        came from, or NOBODY.
        """
        self._environment = environment
        self._overlay = overlay
        self._confirm_timeout = confirm_timeout
        self._wanted = wanted
        self._home_in_tree = home_in_tree
        self._send_down = send_down
        self._known_homes: dict[int, int] = {}
        self._seen = Newest(_REMEMBERED_EVENTS)
        environment.handle(RootAddress, self._on_home_address)
        environment.serve(Multicast, self._on_multicast)

    def publish(self, event: Event) -> None:
        """Send this peer's own event to the home of its topic. Raises TypeError if it has no topic."""
        if event.topic is None:
            raise TypeError("this system knows topics; the event has none")
        if event.topic in self._wanted:
            self._environment.deliver(event)
        data = EventData(
            event=event.number, topic=event.topic, publisher=event.publisher, payload=event.payload
        )
        self._send_home(data, _PATIENCE)

    def has(self, event: int) -> bool:
        """Return whether this peer had the event of this number lately."""
        return event in self._seen

    def on_unreachable(self, peer: int) -> None:
        """Forget that `peer` is a home."""
        for topic in [topic for topic, home in self._known_homes.items() if home == peer]:
            del self._known_homes[topic]

    def be_home(self, data: EventData, hops: int) -> None:
        """Take an event as the home that the overlay led to, and tell its publisher who the home is."""
        if data.publisher != self._environment.peer:
            self._environment.send(data.publisher, RootAddress(topic=data.topic))
        self.disseminate(data, data.hops + hops, NOBODY)

    def disseminate(self, data: EventData, hops: int, sender: int) -> None:
        """Deliver the event here, once, and send it down the tree."""
        if not self._seen.add(data.event):
            return
        if data.topic in self._wanted and data.publisher != self._environment.peer:
            self._environment.deliver(
                Event(data.event, data.publisher, data.topic, payload=data.payload, hops=hops)
            )
        self._send_down(_onward(data, hops + 1), sender)

    def _send_home(self, data: EventData, patience: int) -> None:
        """Send to the home if it is known, otherwise route; wait if the overlay is not joined yet."""
        home = self._home_in_tree(data.topic)
        if home == self._environment.peer:
            self.disseminate(data, 0, NOBODY)
            return
        home = self._known_homes.get(data.topic, home)
        if home != NOBODY:
            self._environment.request(
                home,
                Multicast(event=_onward(data, 1)),
                self._confirm_timeout,
                lambda reply: None,
                lambda: self._find_home(data, home),
            )
        elif self._overlay.ready or not patience:
            self._overlay.route(hash_of_topic(data.topic), data)
        else:
            self._environment.set_timer(1.0, lambda: self._send_home(data, patience - 1))

    def _find_home(self, data: EventData, missing: int) -> None:
        """Route an event that the presumed home has not confirmed; the actual home then tells who it is."""
        if self._known_homes.get(data.topic) == missing:
            del self._known_homes[data.topic]
        self._overlay.route(hash_of_topic(data.topic), data)

    def _on_multicast(self, sender: int, message: Multicast) -> RootAddress | None:
        """Confirm an event as the home. A former home routes it on, and the new home tells the publisher who
        it is.

        A home that came back and has not joined yet has no tree; it does not answer, and the publisher routes
        the event.
        """
        data = message.event
        if data is None:
            self._environment.drop(Multicast, "it lacks a part")
            return None
        if not self._overlay.ready:
            return None
        if self._overlay.next_hop(hash_of_topic(data.topic)) is not None:
            self._overlay.route(hash_of_topic(data.topic), data)
            return None
        self.disseminate(data, data.hops, NOBODY)
        return RootAddress(topic=data.topic)

    def _on_home_address(self, sender: int, message: RootAddress) -> None:
        self._known_homes[message.topic] = sender
        if len(self._known_homes) > _KNOWN_HOMES:
            del self._known_homes[next(iter(self._known_homes))]


def _onward(data: EventData, hops: int) -> EventData:
    """Return the event as it arrives after this many hops; a message that was sent is never changed."""
    return EventData(
        event=data.event, topic=data.topic, publisher=data.publisher, hops=hops, payload=data.payload
    )
