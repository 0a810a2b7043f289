"""Newscast: gossip-based peer sampling (Jelasity, Montresor, ICDCS 2004; Jelasity et al., TOCS 2007).

Each round a peer exchanges its view, with itself added, with a random peer of the view; both keep
the freshest entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from mypy_extensions import i64, mypyc_attr

from emulator.compact.peer_rows import PeerRows
from emulator.contract.draws import below
from emulator.contract.protocol import Environment, Membership
from emulator.protocols.gossip.exchanges import ExchangePartner, Exchanges
from emulator.protocols.gossip.profile_handles import ProfileHandles
from emulator.protocols.gossip.sightings import Sightings
from emulator.protocols.gossip.views import Views
from trellis.v1.overlay import Contact, NewscastExchange, Profile

_KNOWN: Final = Sightings()


@mypyc_attr(allow_interpreted_subclasses=True)
class Newscast(Membership, ExchangePartner):
    """A view of random live peers that renews itself."""

    def __init__(
        self, environment: Environment, own: Callable[[], Profile], *, view_size: int, period: float
    ) -> None:
        """`own` returns this peer's current profile; `period` is a round in seconds."""
        super().__init__(environment)
        self._own = own
        self.period = period
        """The length of a round (s)."""
        self._contacts: Sequence[int] = ()
        self._profiles = environment.shared(ProfileHandles)
        rows = environment.shared(PeerRows)
        self.row: i64 = rows.row(environment.peer)
        """This peer's row in `views`."""
        self.views = environment.shared(Views, environment.name, self._profiles, view_size)
        self.views.empty(self.row)
        self._exchanges = environment.shared(
            Exchanges, environment.name, NewscastExchange, rows, self._profiles, 1 + view_size
        )
        self._exchanges.join(self.row, self)
        environment.handle(NewscastExchange, self._on_message)

    def start(self, contacts: Sequence[int]) -> None:
        self.join_through(contacts)
        self.environment.every(self.period, self._exchange)

    def stop(self, graceful: bool) -> None:
        self.views.empty(self.row)

    def on_unreachable(self, peer: int) -> None:
        self._contacts = [contact for contact in self._contacts if contact != peer]
        gone = self.views.remove(self.row, peer)
        if gone >= 0:
            self._tell_change(self._profiles.profile(gone), joined=False)

    def join_through(self, contacts: Sequence[int]) -> None:
        """Exchange views with these peers, who need not be in the view."""
        self._contacts = contacts
        if contacts:
            exchange = self._compose(reply=False)
            for contact in contacts:
                self.environment.send_row(contact, self._exchanges, exchange)
            self._exchanges.release(exchange)

    def view(self) -> list[Profile]:
        """Return the profiles of the peers in the current view, at most `view_size`."""
        return [self._profiles.profile(handle) for handle in self._seen()]

    def sample(self, count: int) -> Sequence[int]:
        peers = [int(self._profiles.peer(handle)) for handle in self._seen()]
        return self.environment.random.sample(peers, min(count, len(peers)))

    def take_exchange(self, sender: int, reply: bool, told: Sightings) -> None:
        if not reply:
            self._send_to(sender, reply=True)
        before = self._seen() if self._listeners else []
        self.views.merge(self.row, self.environment.peer, told)
        if self._listeners:
            after = self._seen()
            self._tell_changes(before, after, joined=False)
            self._tell_changes(after, before, joined=True)

    def _exchange(self) -> None:
        """Run a round of the active thread."""
        self._profiles.tidy()
        known = self.views.count(self.row)
        if known:
            place = below(self.environment.random, int(known))
            self._send_to(int(self.views.peer(self.row, place)), reply=False)
        elif self._contacts:
            self.join_through(self._contacts)
        else:
            self.environment.find_contacts(self.join_through)

    def _send_to(self, receiver: int, *, reply: bool) -> None:
        exchange = self._compose(reply=reply)
        self.environment.send_row(receiver, self._exchanges, exchange)
        self._exchanges.release(exchange)

    def _compose(self, *, reply: bool) -> i64:
        """Compose a message of the view, with this peer itself added."""
        now, own = self.environment.now, self._profiles.take(self._own())
        known = _KNOWN
        known.clear()
        known.add(self.environment.peer, own, now)
        self.views.read(self.row, known)
        return self._exchanges.compose(reply, known, now)

    def _on_message(self, sender: int, message: NewscastExchange) -> None:
        """Take an exchange that came as a message, from another host or through a runtime without rows."""
        told = Sightings()
        if wrong := told.tell(message.profiles, message.ages_ms, self.environment.now, self._profiles):
            self.environment.drop(NewscastExchange, wrong)
        else:
            self.take_exchange(sender, message.reply, told)

    def _seen(self) -> list[int]:
        """Return the handles of the profiles in the view."""
        seen = Sightings()
        self.views.read(self.row, seen)
        return [int(handle) for handle in seen.handles[: seen.count]]

    def _tell_changes(self, some: list[int], others: list[int], *, joined: bool) -> None:
        """Tell of the peers that are in `some` and not in `others`."""
        known = {self._profiles.peer(handle) for handle in others}
        for handle in some:
            if self._profiles.peer(handle) not in known:
                self._tell_change(self._profiles.profile(handle), joined=joined)

    def _tell_change(self, profile: Profile, *, joined: bool) -> None:
        self.tell_change(Contact(profile.peer, profile.identifier), joined)
