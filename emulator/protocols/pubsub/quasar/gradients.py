"""The gradients around a peer: Quasar's Algorithm 1, as versions and deltas.

A peer tells its attenuated filter to its overlay neighbours each period: the whole of it to a new one, then
what has changed since the version before, or that nothing has. The filters are soft state: one that is not
renewed no longer counts.

A link counts in both directions. The overlay may name a neighbour that does not name this peer, as Pastry's
routing table does; the link would be of no use without the filter of that neighbour. So a peer that gets a
filter from a peer that counts it as a neighbour tells its own in turn.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from librt.vecs import vec
from mypy_extensions import i64

from emulator.contract.identifiers import hash_of_peer
from emulator.contract.protocol import Environment, Membership
from emulator.protocols.pubsub.quasar.bloom import (
    Hashing,
    KnownFilters,
    difference,
    fill,
    flipped,
    home_level,
    merged,
)
from emulator.protocols.pubsub.quasar.routing import Surroundings
from trellis.v1.quasar import AttenuatedFilter, FilterRequest, GradientUpdate

_BYTES_OF_A_FLIP: Final = 2


class Link:
    """A neighbour in either direction, and what it told."""

    __slots__ = (
        "filter",
        "heard",
        "is_claimed",
        "is_neighbour",
        "peer",
        "place",
        "sent",
        "session",
        "version",
    )

    def __init__(self, peer: int, own: int) -> None:
        """Make a link of the peer `own` to `peer`."""
        self.peer = peer
        self.place = hash_of_peer(peer) ^ hash_of_peer(own)
        """The place of this neighbour in the order of asking, ascending; each peer has an order of its own.
        """
        self.filter: AttenuatedFilter | None = None
        self.session = -1
        self.version = 0
        """The version of `filter`."""
        self.heard = -1.0
        """The time of the last update (s of trial time), -1 before the first."""
        self.is_neighbour = False
        """Whether the overlay says that the other peer is a neighbour."""
        self.is_claimed = False
        """Whether the other peer says that this one is a neighbour of its own."""
        self.sent = 0
        """The version of this peer's filter that was last sent to the other peer."""


class Gradients:
    """The filters of the neighbours, and this peer's own."""

    def __init__(
        self,
        environment: Environment,
        overlay: Membership,
        hashing: Hashing,
        topics: Collection[int],
        known: KnownFilters,
        *,
        depth: int,
        level_bytes: int,
        freshness: float,
    ) -> None:
        """`topics` are the present subscriptions of this peer, as they change; `known` has the filters that
        peers of this host know; `freshness` is in seconds.
        """
        self._environment = environment
        self._overlay = overlay
        self._hashing = hashing
        self._topics = topics
        self._known = known
        self._depth = depth
        self._level_bytes = level_bytes
        self._freshness = freshness
        self._nothing = bytes(level_bytes)
        self.links: dict[int, Link] = {}
        self.own = AttenuatedFilter([self._nothing] * depth)
        """This peer's own filter as it was last told, the paper's H."""
        self._version = 0
        self._changes: vec[i64] | None = None
        """The bits in which the last version differs from the one before it; None if it is to be told whole.
        """
        self._messages: dict[tuple[bool, int], GradientUpdate] = {}
        """The updates of the last version; all neighbours that get the same one share an object."""
        environment.handle(GradientUpdate, self._on_update)
        environment.handle(FilterRequest, self._on_request)

    def clear(self) -> None:
        """Forget all neighbours."""
        self.links.clear()

    def update(self) -> None:
        """Run Algorithm 1, once a period."""
        self._find_neighbours()
        self._renew()
        for link in self.links.values():
            self._tell(link)

    def neighbour_came(self, peer: int) -> None:
        """Tell a new neighbour this peer's filter at once."""
        if peer == self._environment.peer:
            return
        link = self._link(peer)
        link.is_neighbour = True
        if link.sent == 0:
            if self._version == 0:
                self._renew()
            self._tell(link)

    def neighbour_went(self, peer: int) -> None:
        """Stop claiming the link, but keep it as long as the other peer claims it."""
        link = self.links.get(peer)
        if link is not None:
            link.is_neighbour = False
            if link.sent:
                self._tell(link)
            if not self._is_claimed(link):
                del self.links[peer]

    def forget(self, peer: int) -> None:
        """Forget a peer that has gone."""
        self.links.pop(peer, None)

    def levels(self, link: Link) -> list[bytes] | None:
        """Return the neighbour's filter, GETATTENUATEDFILTERFOR(O); None if there is none or it is stale."""
        found = link.filter
        if found is None or link.heard < self._environment.now - self._freshness:
            return None
        return found.levels

    def surroundings(self) -> Surroundings:
        """Return the neighbours with their filters, in the order in which Algorithm 2 asks them."""
        return [(link.peer, self.levels(link)) for link in sorted(self.links.values(), key=_place)]

    def gauges(self) -> dict[str, float]:
        """Return the gauges: the number of links and kept filters, their bytes, and their bits set."""
        kept = [link.filter for link in self.links.values() if link.filter is not None]
        found = {
            "filter_links": float(len(self.links)),
            "filter_bytes": float(len(kept) * self._depth * self._level_bytes),
        }
        for level in range(self._depth if kept else 0):
            found[f"fill_{level}"] = sum([fill(each.levels[level]) for each in kept]) / len(kept)
        return found

    def _link(self, peer: int) -> Link:
        link = self.links.get(peer)
        if link is None:
            link = self.links[peer] = Link(peer, self._environment.peer)
        return link

    def _is_claimed(self, link: Link) -> bool:
        return link.is_claimed and link.heard >= self._environment.now - self._freshness

    def _find_neighbours(self) -> None:
        """Take over the overlay's neighbours of all kinds, since an overlay need not tell of each change."""
        current: set[int] = set()
        for peers in self._overlay.neighbours().values():
            current.update(peers)
        current.discard(self._environment.peer)
        for peer in sorted(current - self.links.keys()):
            self._link(peer)
        for link in list(self.links.values()):
            if link.peer in current:
                link.is_neighbour = True
            elif link.is_neighbour:
                self.neighbour_went(link.peer)
            elif not self._is_claimed(link):
                del self.links[link.peer]

    def _renew(self) -> None:
        """Compose this peer's filter (lines 1 to 10)."""
        entries = [self._hashing.of_group(topic) for topic in self._topics]
        entries.append(self._hashing.of_peer(self._environment.peer))
        levels = [home_level(self._level_bytes, entries)]
        fresh = [found for link in self.links.values() if (found := self.levels(link)) is not None]
        size = self._level_bytes
        levels += [merged(size, [each[level] for each in fresh]) for level in range(self._depth - 1)]
        if self._version and levels == self.own.levels:
            return
        former, self.own = self.own, self._known.shared(self._environment.peer, AttenuatedFilter(levels))
        self._changes = difference(former, self.own)
        if len(self._changes) * _BYTES_OF_A_FLIP >= self._depth * self._level_bytes:
            self._changes = None
        self._version += 1
        self._messages.clear()

    def _tell(self, link: Link) -> None:
        """Tell a neighbour this peer's filter (lines 11 and 12)."""
        base = link.sent if link.sent >= self._version - 1 and link.sent else 0
        link.sent = self._version
        key = (link.is_neighbour, base)
        message = self._messages.get(key)
        if message is None:
            message = self._messages[key] = self._message(link.is_neighbour, base)
        self._environment.send(link.peer, message)

    def _message(self, linked: bool, base: int) -> GradientUpdate:
        """Return the update for a neighbour that was told version `base`; 0 if it needs the whole."""
        session = self._environment.session
        if base == self._version:
            return GradientUpdate(session, self._version, linked)
        if base and self._changes is not None:
            return GradientUpdate(session, self._version, linked, None, self._changes)
        return GradientUpdate(session, self._version, linked, self.own)

    def _on_update(self, sender: int, message: GradientUpdate) -> None:
        link = self.links.get(sender)
        if link is None:
            if not message.linked:
                return
            link = self._link(sender)
        link.is_claimed = message.linked
        if not message.linked and not link.is_neighbour:
            del self.links[sender]
            return
        link.heard = self._environment.now
        self._take_over(link, message)
        if link.sent == 0 and self._version:
            self._tell(link)

    def _take_over(self, link: Link, message: GradientUpdate) -> None:
        same_session = message.session == link.session
        if message.session < link.session or (same_session and message.version < link.version):
            return
        if message.filter is not None:
            if not self._fits(message.filter):
                self._environment.drop(GradientUpdate, "its filter has another size")
                return
            link.filter = self._known.shared(link.peer, message.filter)
        elif same_session and message.version == link.version:
            return
        elif (
            link.filter is not None
            and same_session
            and message.version == link.version + 1
            and self._are_bits(message.flipped)
        ):
            link.filter = self._known.shared(link.peer, flipped(link.filter, message.flipped))
        else:
            self._environment.send(link.peer, FilterRequest())
            return
        link.session, link.version = message.session, message.version

    def _fits(self, filter_: AttenuatedFilter) -> bool:
        """Return whether the filter has the size that all peers were told."""
        sizes: Iterable[int] = [len(level) for level in filter_.levels]
        return list(sizes) == [self._level_bytes] * self._depth

    def _are_bits(self, numbers: vec[i64]) -> bool:
        """Return whether these numbers, of which there is at least one, are bits of a filter."""
        size = 8 * self._depth * self._level_bytes
        return len(numbers) > 0 and all(0 <= number < size for number in numbers)

    def _on_request(self, sender: int, message: FilterRequest) -> None:
        link = self.links.get(sender)
        if link is not None and self._version:
            link.sent = 0
            self._tell(link)


def _place(link: Link) -> int:
    return link.place
