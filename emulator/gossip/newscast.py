"""Newscast: gossip-based peer sampling (Jelasity, Montresor, ICDCS 2004; Jelasity et al., TOCS 2007).

Each round a peer exchanges its view, with itself added, with a random peer of the view; both keep
the freshest entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from google.protobuf.message import Message
from trellis.v1.overlay_pb2 import NewscastExchange

from emulator.gossip.descriptor import Descriptor, Sighting, ages_ms, merge, told
from emulator.protocol import Component, Contact, Environment, Handler


class Newscast(Component):
    """A view of random live peers that renews itself."""

    def __init__(
        self, environment: Environment, own: Callable[[], Descriptor], *, view_size: int, period: float
    ) -> None:
        """`own` gives this peer's current descriptor; `period` is a round in seconds."""
        self._environment = environment
        self._own = own
        self._size = view_size
        self._period = period
        self._view: dict[int, Sighting] = {}
        self._contacts: list[Contact] = []

    def handlers(self) -> dict[type[Message], Handler]:
        return {NewscastExchange: self._on_exchange}

    def start(self, bootstrap: Sequence[Contact]) -> None:
        self._join_through(bootstrap)
        self._environment.every(self._period, self._exchange)

    def stop(self, graceful: bool) -> None:
        self._view.clear()

    def on_unreachable(self, peer: int) -> None:
        self._view.pop(peer, None)
        self._contacts = [contact for contact in self._contacts if contact.peer != peer]

    def sample(self) -> list[Sighting]:
        """The current view: about `view_size` random peers."""
        return list(self._view.values())

    def _join_through(self, contacts: Sequence[Contact]) -> None:
        self._contacts = list(contacts)
        if contacts:
            exchange = self._message(reply=False)
            for contact in contacts:
                self._environment.send(contact.peer, exchange)

    def _exchange(self) -> None:
        if self._view:
            partner = self._environment.random.choice(list(self._view))
            self._environment.send(partner, self._message(reply=False))
        elif self._contacts:
            self._join_through(self._contacts)
        else:
            self._environment.find_contacts(self._join_through)

    def _on_exchange(self, sender: int, message: NewscastExchange) -> None:
        if not message.reply:
            self._environment.send(sender, self._message(reply=True))
        view = self._view
        merge(view, told(message.profiles, message.ages_ms, self._environment.now))
        view.pop(self._environment.self_contact.peer, None)
        if len(view) > self._size:
            # Equal ages are common among entries that came together: peer numbers break the tie.
            freshest = sorted(view.items(), key=lambda entry: (-entry[1][0], entry[0]))
            self._view = dict(freshest[: self._size])

    def _message(self, *, reply: bool) -> NewscastExchange:
        sightings = self.sample()
        return NewscastExchange(
            reply=reply,
            profiles=[self._own().encoded, *(descriptor.encoded for _, descriptor in sightings)],
            ages_ms=[0, *ages_ms(sightings, self._environment.now)],
        )
