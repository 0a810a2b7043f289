"""Newscast: gossip-based peer sampling (Jelasity, Montresor, ICDCS 2004; Jelasity et al., TOCS 2007).

Each round a peer exchanges its view, with itself added, with a random peer of the view; both keep
the freshest entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from mypy_extensions import mypyc_attr

from emulator.gossip.sightings import Sighting, age_ms, told
from emulator.protocol import Environment, Membership
from trellis.v1.overlay import Contact, NewscastExchange, Profile


@mypyc_attr(allow_interpreted_subclasses=True)
class Newscast(Membership):
    """A view of random live peers that renews itself."""

    def __init__(
        self, environment: Environment, own: Callable[[], Profile], *, view_size: int, period: float
    ) -> None:
        """`own` gives this peer's current profile; `period` is a round in seconds."""
        super().__init__(environment)
        self._own = own
        self._size = view_size
        self._period = period
        self._view: dict[int, Sighting] = {}
        self._contacts: Sequence[int] = ()
        environment.handle(NewscastExchange, self._on_exchange)

    def start(self, contacts: Sequence[int]) -> None:
        self._join_through(contacts)
        self.environment.every(self._period, self._exchange)

    def stop(self, graceful: bool) -> None:
        self._view.clear()

    def on_unreachable(self, peer: int) -> None:
        self._contacts = [contact for contact in self._contacts if contact != peer]
        gone = self._view.pop(peer, None)
        if gone is not None:
            self._tell_changes([gone], joined=False)

    def view(self) -> list[Sighting]:
        """The current view, at most `view_size` peers. The caller does not change them."""
        return list(self._view.values())

    def sample(self, count: int) -> Sequence[int]:
        view = list(self._view)
        return self.environment.random.sample(view, min(count, len(view)))

    def _join_through(self, contacts: Sequence[int]) -> None:
        self._contacts = contacts
        if contacts:
            exchange = self._message(reply=False)
            for contact in contacts:
                self.environment.send(contact, exchange)

    def _exchange(self) -> None:
        if self._view:
            partner = self.environment.random.choice(list(self._view))
            self.environment.send(partner, self._message(reply=False))
        elif self._contacts:
            self._join_through(self._contacts)
        else:
            self.environment.find_contacts(self._join_through)

    def _on_exchange(self, sender: int, message: NewscastExchange) -> None:
        if not message.reply:
            self.environment.send(sender, self._message(reply=True))
        before = self._view
        self._view = self._freshest(told(message.profiles, message.ages_ms, self.environment.now))
        if self._listeners:
            self._tell_changes([s for peer, s in before.items() if peer not in self._view], joined=False)
            self._tell_changes([s for peer, s in self._view.items() if peer not in before], joined=True)

    def _freshest(self, news: list[Sighting]) -> dict[int, Sighting]:
        """The view with the news merged in; among equally fresh peers those known before stay."""
        merged = self._view.copy()
        own = self.environment.peer
        for sighting in news:
            peer = sighting.profile.peer
            if peer == own:
                continue
            known = merged.get(peer)
            if known is None:
                merged[peer] = sighting
            else:
                known.add(sighting)
        if len(merged) <= self._size:
            return merged
        view: dict[int, Sighting] = {}
        for sighting in sorted(merged.values(), key=_heard, reverse=True)[: self._size]:
            view[sighting.profile.peer] = sighting
        return view

    def _message(self, *, reply: bool) -> NewscastExchange:
        now = self.environment.now
        profiles = [self._own()]
        ages = [0]
        for sighting in self._view.values():
            profiles.append(sighting.profile)
            ages.append(age_ms(sighting, now))
        return NewscastExchange(reply, profiles, ages)

    def _tell_changes(self, sightings: Iterable[Sighting], *, joined: bool) -> None:
        for sighting in sightings:
            self.tell_change(Contact(sighting.profile.peer, sighting.profile.identifier), joined)


def _heard(sighting: Sighting) -> float:
    return sighting.heard
