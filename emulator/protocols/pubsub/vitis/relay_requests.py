"""The relay requests of a host's peers, as rows, and the relay links that they make."""

from __future__ import annotations

from abc import abstractmethod

from librt.vecs import append, vec
from mypy_extensions import i64, mypyc_attr, trait

from emulator.compact.peer_ranges import NO_PLACE, PeerRanges
from emulator.compact.peer_rows import NO_ROW, PeerRows
from emulator.contract.held_messages import HeldMessages
from trellis.v1.pubsub import RelayRequest


@mypyc_attr(allow_interpreted_subclasses=True)
@trait
class RelayListener:
    """A peer that gets relay requests."""

    @abstractmethod
    def take_request(self, sender: int, request: i64) -> None:
        """Take a request from a peer that asks for something else than before, or did not ask lately."""


class RelayLinks(PeerRanges):
    """The relay links of each peer in one direction, by the peer's row, in the order in which they were made.

    A link is a place in three columns: the peer at the other end, what is asked for over the link, which is
    the row of a request, and the time at which the link ends unless it is renewed (s of trial time).
    """

    def __init__(self) -> None:
        super().__init__()
        self.requests = vec[i64]()
        self.ends = vec[float]()

    def lengthen(self) -> None:
        self.requests = append(self.requests, i64(0))
        self.ends = append(self.ends, 0.0)

    def copy(self, place: i64, to: i64) -> None:
        self.requests[to] = self.requests[place]
        self.ends[to] = self.ends[place]

    def add(self, row: i64, peer: i64, request: i64, ends: float) -> None:
        """Add a link, which takes over the hold of the request."""
        place = self.next_place(row, peer)
        self.requests[place] = request
        self.ends[place] = ends


class RelayRequests(HeldMessages[RelayRequest]):
    """Messages of the type `RelayRequest`.

    In a network at rest a peer asks each next hop for the same topics in each round. Its request is the same
    row then, and renews the link without being read.
    """

    def __init__(self, rows: PeerRows, lifetime: float) -> None:
        """`lifetime` is how long a relay link lasts without renewal, in seconds."""
        super().__init__()
        self.below = RelayLinks()
        """The links to the peers that ask a peer now."""
        self.above = RelayLinks()
        """The links to the peers that a peer asks now."""
        self.lifetime = lifetime
        self._rows = rows
        self._listeners: list[RelayListener | None] = []

    def join(self, row: i64, listener: RelayListener) -> None:
        """Hand what comes to the peer of this row to `listener` from now on. The peer has no links."""
        while len(self._listeners) <= row:
            self._listeners.append(None)
            self.below.leave(len(self._listeners) - 1)
            self.above.leave(len(self._listeners) - 1)
        self._listeners[int(row)] = listener
        self.unlink(row)

    def leave(self, peer: i64) -> None:
        row = self._rows.find(peer)
        if row != NO_ROW and row < len(self._listeners):
            self._listeners[int(row)] = None
            self.unlink(row)

    def unlink(self, row: i64) -> None:
        """Remove all links of a row."""
        for links in (self.below, self.above):
            place: i64
            for place in range(links.begin(row), links.end(row)):
                self.release(links.requests[place])
            links.leave(row)

    def remove(self, links: RelayLinks, row: i64, place: i64) -> None:
        """Remove one of these links, which is the row's."""
        self.release(links.requests[place])
        links.take_out(row, place)

    def ask_over(self, links: RelayLinks, place: i64, request: i64) -> None:
        """Have one of these links ask for something else; it takes over the hold of the request."""
        self.release(links.requests[place])
        links.requests[place] = request

    def topics(self, row: i64) -> int:
        """Return the topics that are asked for, as a bit set."""
        return self.view(row).topics

    def receive(self, peer: i64, sender: i64, row: i64, now: float) -> bool:
        at = self._rows.find(peer)
        if at == NO_ROW or at >= len(self._listeners):
            return False
        below = self.below
        place = below.find(at, sender)
        if place != NO_PLACE and below.requests[place] == row and below.ends[place] >= now:
            below.ends[place] = now + self.lifetime
            return True
        listener = self._listeners[int(at)]
        if listener is None:
            return False
        listener.take_request(int(sender), row)
        return True
