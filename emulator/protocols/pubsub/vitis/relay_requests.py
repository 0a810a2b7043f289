"""The relay requests of a host's peers, as rows, and the relay links that they make."""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i32, i64, mypyc_attr, trait

from emulator.compact.peer_ranges import NO_PLACE, PeerRanges
from emulator.compact.peer_rows import NO_ROW, PeerRows
from emulator.compact.sorted_numbers import as_bits, packed_size, sorted_numbers
from emulator.contract.message_pool import MessagePool
from emulator.kernels import unite
from emulator.messages.coding import varint_size
from trellis.v1.pubsub import RelayRequest

_ADDITION_SIZE: Final[i64] = 2
_NO_TOPICS: Final = vec[i32]()


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


class RelayRequests(MessagePool):
    """Messages of the type `RelayRequest`: topics that a peer asks for, or adds to those that it asked for.

    In a network at rest a peer asks each next hop for the same topics in each round. Its request is the same
    row then, and renews the link without being read. Topics are ascending: a request has few of all of them.
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
        self._topics = vec[vec[i32]]()
        self._additions = vec[i64]()
        self._sizes = vec[i64]()
        self._holders = vec[i64]()
        self._free = vec[i64]()
        self._free_count: i64 = 0
        self._messages: list[RelayRequest | None] = []
        """The message of each row that came as one, or that was asked for."""

    def put(self, topics: vec[i32], *, addition: bool = False) -> i64:
        """Return a row for a request, which the caller holds."""
        if self._free_count == 0:
            self._lengthen()
        self._free_count -= 1
        row = self._free[self._free_count]
        size: i64 = _ADDITION_SIZE if addition else 0
        packed = packed_size(topics)
        if packed:
            size += i64(1 + varint_size(int(packed))) + packed
        self._topics[row] = topics
        self._additions[row] = 1 if addition else 0
        self._sizes[row] = size
        self._holders[row] = 1
        return row

    def take(self, message: RelayRequest) -> i64:
        """Return a row for a request that came as a message; the caller holds it."""
        row = self.put(sorted_numbers(message.topics), addition=message.addition)
        self._messages[int(row)] = message
        return row

    def topics(self, row: i64) -> vec[i32]:
        """Return the topics that are asked for."""
        return self._topics[row]

    def topics_over(self, links: RelayLinks, row: i64) -> vec[i32]:
        """Return all topics that are asked for over the links of a row."""
        return unite(self._topics, links.requests, int(links.begin(row)), int(links.end(row)))

    def is_addition(self, row: i64) -> bool:
        """Return whether the topics are asked for in addition to those that the sender asked for before."""
        return self._additions[row] != 0

    def byte_size(self, row: i64) -> i64:
        return self._sizes[row]

    def view(self, row: i64) -> RelayRequest:
        message = self._messages[int(row)]
        if message is None:
            message = RelayRequest(as_bits(self._topics[row]), self._additions[row] != 0)
            self._messages[int(row)] = message
        return message

    def hold(self, row: i64) -> None:
        self._holders[row] += 1

    def release(self, row: i64) -> None:
        self._holders[row] -= 1
        if self._holders[row] == 0:
            self._topics[row] = _NO_TOPICS
            self._messages[int(row)] = None
            self._free[self._free_count] = row
            self._free_count += 1

    def held(self) -> int:
        """Return the number of requests that anybody holds."""
        return len(self._messages) - int(self._free_count)

    def _lengthen(self) -> None:
        """Add a row, which nobody holds."""
        self._free = append(self._free, i64(0))
        self._free[0] = len(self._messages)
        self._free_count = 1
        self._messages.append(None)
        self._topics = append(self._topics, _NO_TOPICS)
        self._additions = append(self._additions, i64(0))
        self._sizes = append(self._sizes, i64(0))
        self._holders = append(self._holders, i64(0))

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
