"""Counts of messages that each peer of a host sent, and of their bytes, by channel and message type.

The counts of one type lie together for all peers, instead of in counters of each peer: counting a message
touches one place in memory, and the sums of a host are soon made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from librt.vecs import append, vec
from mypy_extensions import i64

from emulator.messages.message import KINDS, Message


class Subject(NamedTuple):
    """The key of a tally, which counts messages of one type and kind on one channel."""

    channel: str
    message: str
    kind: str
    traced: bool


class Tally:
    """The messages of one subject, for each peer by its place."""

    __slots__ = ("_sums", "subject")

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._sums = vec[i64]()
        """The sums of messages and bytes: two numbers for each place up to the last one that sent any."""

    def add(self, place: i64, messages: i64, size: i64) -> None:
        """Count messages of `size` bytes in all."""
        at = 2 * place
        while i64(len(self._sums)) <= at:
            self._sums = append(append(self._sums, i64(0)), i64(0))
        self._sums[at] += messages
        self._sums[at + 1] += size

    def sent(self, place: i64) -> tuple[int, int]:
        """Return the messages of one peer, and their bytes."""
        at = 2 * place
        if at >= i64(len(self._sums)):
            return 0, 0
        return int(self._sums[at]), int(self._sums[at + 1])

    def total(self) -> tuple[int, int]:
        """Return the messages of all peers, and their bytes."""
        messages = size = i64(0)
        at, end = i64(0), i64(len(self._sums))
        while at < end:
            messages += self._sums[at]
            size += self._sums[at + 1]
            at += 2
        return int(messages), int(size)


class ChannelTallies:
    """The tallies of messages on the channels of one name."""

    def __init__(self, channel: str, tallies: list[Tally]) -> None:
        """New tallies are appended to `tallies` too."""
        self._channel = channel
        self._tallies = tallies
        self._by_type: list[dict[type[Message], Tally]] = [{} for _ in range(2 * len(KINDS))]
        """The tallies by message type: for each kind one dictionary of maintenance and one of operations.

        A message that encloses another one is of the other one's kind.
        """

    def count(self, place: i64, message: Message, traced: bool) -> None:
        """Count a message that the peer of this place sends, in an operation (`traced`) or in none."""
        self.tally(message, traced).add(place, 1, message.byte_size())

    def tally(self, message: Message, traced: bool) -> Tally:
        """Return the tally of such messages."""
        by_type = self._by_type[2 * message.kind() + traced]
        tally = by_type.get(type(message))
        if tally is None:
            subject = Subject(self._channel, message.NAME, KINDS[message.kind()], traced)
            tally = by_type[type(message)] = Tally(subject)
            self._tallies.append(tally)
        return tally


class Tallies:
    """All tallies of one host."""

    def __init__(self) -> None:
        self._tallies: list[Tally] = []
        self._channels: dict[str, ChannelTallies] = {}
        self._places: dict[int, int] = {}

    def place(self, peer: int) -> int:
        """Return the peer's place in tallies, the same for all its lives."""
        return self._places.setdefault(peer, len(self._places))

    def on(self, channel: str) -> ChannelTallies:
        """Return the tallies of the channels of this name."""
        tallies = self._channels.get(channel)
        if tallies is None:
            tallies = self._channels[channel] = ChannelTallies(channel, self._tallies)
        return tallies

    def totals(self) -> list[tuple[Subject, tuple[int, int]]]:
        """Return the messages of the whole host and their bytes, ordered by subject."""
        return [(tally.subject, tally.total()) for tally in self._ordered()]

    def by_kind(self) -> dict[str, int]:
        """Return the messages of the whole host by their kind."""
        kinds: dict[str, int] = {}
        for tally in self._tallies:
            kinds[tally.subject.kind] = kinds.get(tally.subject.kind, 0) + tally.total()[0]
        return kinds

    def by_peer(self) -> Iterator[tuple[int, Subject, tuple[int, int]]]:
        """Yield the messages of each peer and their bytes, ordered by peer and subject, without zeros."""
        ordered = self._ordered()
        for peer, place in sorted(self._places.items()):
            for tally in ordered:
                sent = tally.sent(place)
                if sent[0]:
                    yield peer, tally.subject, sent

    def _ordered(self) -> list[Tally]:
        return sorted(self._tallies, key=lambda tally: tally.subject)
