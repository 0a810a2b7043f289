"""Newscast: gossip-based peer sampling (Jelasity, Montresor, ICDCS 2004; Jelasity et al., TOCS 2007).

Each round a peer exchanges its view, with itself added, with a random peer of the view; both keep
the freshest entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64, mypyc_attr

from emulator.compact.peer_positions import PeerPositions
from emulator.contract.protocol import Environment, Membership
from emulator.protocols.gossip.sightings import Sightings, age_ms, told
from trellis.v1.overlay import Contact, NewscastExchange, Profile

_PLACES: Final = PeerPositions()


@mypyc_attr(allow_interpreted_subclasses=True)
class Newscast(Membership):
    """A view of random live peers that renews itself."""

    def __init__(
        self, environment: Environment, own: Callable[[], Profile], *, view_size: int, period: float
    ) -> None:
        """`own` returns this peer's current profile; `period` is a round in seconds."""
        super().__init__(environment)
        self._own = own
        self._size = view_size
        self._period = period
        self._view = Sightings()
        self._contacts: Sequence[int] = ()
        environment.handle(NewscastExchange, self._on_exchange)

    def start(self, contacts: Sequence[int]) -> None:
        self._join_through(contacts)
        self.environment.every(self._period, self._exchange)

    def stop(self, graceful: bool) -> None:
        self._view = Sightings()

    def on_unreachable(self, peer: int) -> None:
        self._contacts = [contact for contact in self._contacts if contact != peer]
        gone = [profile for profile in self._view.profiles if profile.peer == peer]
        if gone:
            self._view = self._view.without(peer)
            self._tell_changes(gone, joined=False)

    def view(self) -> Sightings:
        """Return the current view, at most `view_size` peers. The caller must not change it."""
        return self._view

    def sample(self, count: int) -> Sequence[int]:
        peers = list(self._view.peers)
        return self.environment.random.sample(peers, min(count, len(peers)))

    def _join_through(self, contacts: Sequence[int]) -> None:
        self._contacts = contacts
        if contacts:
            exchange = self._message(reply=False)
            for contact in contacts:
                self.environment.send(contact, exchange)

    def _exchange(self) -> None:
        if len(self._view):
            partner = self.environment.random.choice(self._view.profiles).peer
            self.environment.send(partner, self._message(reply=False))
        elif self._contacts:
            self._join_through(self._contacts)
        else:
            self.environment.find_contacts(self._join_through)

    def _on_exchange(self, sender: int, message: NewscastExchange) -> None:
        if len(message.profiles) != len(message.ages_ms):
            self.environment.drop(NewscastExchange, "its lists do not fit together")
            return
        if not message.reply:
            self.environment.send(sender, self._message(reply=True))
        before = self._view
        self._view = self._freshest(told(message.profiles, message.ages_ms, self.environment.now))
        if self._listeners:
            self._tell_changes(_missing(before, self._view), joined=False)
            self._tell_changes(_missing(self._view, before), joined=True)

    def _freshest(self, news: Sightings) -> Sightings:
        """Return the view with the news merged in; among equally fresh peers those known before stay."""
        merged = self._view.copy()
        _PLACES.clear()
        place: i64
        for place in range(len(merged.peers)):
            _PLACES.note(merged.peers[place], place)
        own: i64 = self.environment.peer
        for place in range(len(news)):
            peer = news.peers[place]
            if peer == own:
                continue
            end = len(merged)
            known = _PLACES.note(peer, end)
            if known == end:
                merged.add(news.profiles[int(place)], news.heard[place])
            else:
                merged.renew(known, news.profiles[int(place)], news.heard[place])
        return merged if len(merged) <= self._size else merged.freshest(self._size)

    def _message(self, *, reply: bool) -> NewscastExchange:
        now = self.environment.now
        view = self._view
        ages = append(vec[i64](capacity=1 + len(view)), i64(0))
        for heard in view.heard:
            ages = append(ages, age_ms(heard, now))
        return NewscastExchange(reply, [self._own(), *view.profiles], ages)

    def _tell_changes(self, profiles: Iterable[Profile], *, joined: bool) -> None:
        for profile in profiles:
            self.tell_change(Contact(profile.peer, profile.identifier), joined)


def _missing(some: Sightings, others: Sightings) -> list[Profile]:
    """Return the profiles of the peers that are in `some` and not in `others`."""
    return [profile for profile in some.profiles if profile.peer not in others.peers]
