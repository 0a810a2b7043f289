"""The exchanges of sightings that peers of a host send: messages of Newscast and T-Man, as rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64, mypyc_attr, trait

from emulator.compact.peer_rows import NO_ROW, PeerRows
from emulator.contract.message_pool import MessagePool
from emulator.messages.coding import varint_size
from emulator.protocols.gossip.profile_handles import HandleKeeper, ProfileHandles
from emulator.protocols.gossip.sightings import Sightings, age_ms
from trellis.v1.overlay import NewscastExchange, TManExchange

_REPLY_SIZE: Final[i64] = 2
_TOLD: Final = Sightings()


@mypyc_attr(allow_interpreted_subclasses=True)
@trait
class ExchangePartner:
    """A component that exchanges sightings with others."""

    @abstractmethod
    def take_exchange(self, sender: int, reply: bool, told: Sightings) -> None:
        """Take an exchange that has come. `told` is used for the next one afterwards."""


class Exchanges(MessagePool, HandleKeeper):
    """Messages of one of the two types: profiles, the ages (ms) since each was heard from, and `reply`."""

    def __init__(
        self,
        channel: str,
        kind: type[NewscastExchange] | type[TManExchange],
        rows: PeerRows,
        profiles: ProfileHandles,
        most: int,
    ) -> None:
        """`most` sightings are in a message on the channel of this name."""
        super().__init__()
        self._kind = kind
        self._rows = rows
        self._profiles = profiles
        self._most: i64 = most
        self._partners: list[ExchangePartner | None] = []
        self._handles = vec[i64]()
        self._ages = vec[i64]()
        self._counts = vec[i64]()
        self._replies = vec[i64]()
        self._sizes = vec[i64]()
        self._holders = vec[i64]()
        self._free = vec[i64]()
        self._free_count: i64 = 0
        profiles.add_keeper(self)

    def join(self, row: i64, partner: ExchangePartner) -> None:
        """Hand what comes to the peer of this row to `partner` from now on."""
        while len(self._partners) <= row:
            self._partners.append(None)
        self._partners[int(row)] = partner

    def leave(self, peer: i64) -> None:
        row = self._rows.find(peer)
        if row != NO_ROW and row < len(self._partners):
            self._partners[int(row)] = None

    def compose(self, reply: bool, known: Sightings, now: float) -> i64:
        """Compose a message, which the caller holds. Its sender is the first of the known peers."""
        if self._free_count == 0:
            self._grow()
        self._free_count -= 1
        row = self._free[self._free_count]
        handles, ages, first = self._handles, self._ages, row * self._most
        known_handles, known_heard, sizes = known.handles, known.heard, self._profiles.sizes
        size, ages_size = _REPLY_SIZE if reply else i64(0), i64(0)
        place: i64
        for place in range(known.count):
            handle = known_handles[place]
            age = age_ms(known_heard[place], now)
            handles[first + place] = handle
            ages[first + place] = age
            size += sizes[handle]
            ages_size += 1
            while age > 0x7F:
                ages_size += 1
                age >>= 7
        if ages_size:
            size += 1 + (1 if ages_size < 0x80 else i64(varint_size(int(ages_size)))) + ages_size
        self._counts[row] = known.count
        self._replies[row] = 1 if reply else 0
        self._sizes[row] = size
        self._holders[row] = 1
        return row

    def byte_size(self, row: i64) -> i64:
        return self._sizes[row]

    def view(self, row: i64) -> NewscastExchange | TManExchange:
        first = row * self._most
        end = first + self._counts[row]
        profiles = [self._profiles.profile(handle) for handle in self._handles[first:end]]
        return self._kind(self._replies[row] != 0, profiles, self._ages[first:end])

    def hold(self, row: i64) -> None:
        self._holders[row] += 1

    def release(self, row: i64) -> None:
        self._holders[row] -= 1
        if self._holders[row] == 0:
            self._free[self._free_count] = row
            self._free_count += 1

    def receive(self, peer: i64, sender: i64, row: i64, now: float) -> bool:
        at = self._rows.find(peer)
        if at == NO_ROW or at >= len(self._partners):
            return False
        partner = self._partners[int(at)]
        if partner is None:
            return False
        told = _TOLD
        self._read(row, now, told)
        partner.take_exchange(int(sender), self._replies[row] != 0, told)
        return True

    def _read(self, row: i64, now: float, told: Sightings) -> None:
        """Read what a message tells."""
        first, count = row * self._most, self._counts[row]
        told.reserve(count)
        to_peers, to_handles, to_heard = told.peers, told.handles, told.heard
        handles, ages, peers = self._handles, self._ages, self._profiles.peers
        place: i64
        for place in range(count):
            handle = handles[first + place]
            to_peers[place] = peers[handle]
            to_handles[place] = handle
            to_heard[place] = now - ages[first + place] / 1000
        told.count = count

    def mark(self, kept: vec[i64]) -> None:
        row: i64
        for row in range(len(self._holders)):
            if self._holders[row] > 0:
                first = row * self._most
                place: i64
                for place in range(first, first + self._counts[row]):
                    kept[self._handles[place]] = 1

    def _grow(self) -> None:
        """Double the room for messages."""
        known: i64 = len(self._holders)
        more: i64 = max(known, 256)
        for _ in range(more):
            for _sighting in range(self._most):
                self._handles = append(self._handles, i64(0))
                self._ages = append(self._ages, i64(0))
            self._counts = append(self._counts, i64(0))
            self._replies = append(self._replies, i64(0))
            self._sizes = append(self._sizes, i64(0))
            self._holders = append(self._holders, i64(0))
            self._free = append(self._free, i64(0))
        row: i64
        for row in range(more):
            self._free[row] = known + more - 1 - row
        self._free_count = more
