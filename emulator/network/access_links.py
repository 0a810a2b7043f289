"""The links by which peers reach the network: each has a rate up, a rate down, and queues of bounded length.

A message takes its size through the sender's up link, then the way's delay, then its size through the
receiver's down link, which begins when the last bit has arrived: links store and forward. Both are queues in
order of arrival. A message that enters a link at t starts at max(t, free) and leaves 8 S / rate later, which
is the new `free`. Times are whole numbers of a unit in which each bit of each link takes a whole number, so
they are exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from mypy_extensions import i64

from emulator.network.link_use import LinkUse

NANOSECONDS: Final = 1_000_000_000
"""The nanoseconds of a second."""
DROPPED: Final = -1
"""Stands for the departure of a message that does not fit into the queue."""
UP_LINK_DROP: Final = "up link drop"
"""The name of the observation of a sender whose message did not fit into its up link; its value is bytes."""
DOWN_LINK_DROP: Final = "down link drop"
"""The name of the observation of a receiver, into whose down link a message did not fit."""


_WORD: Final = 2**61
"""The instants that are kept in words are smaller, and so is the sum of two."""
_LARGEST_ROW: Final = 2**20
"""No message that is a row of a pool is larger, in bytes."""


class LinkRates:
    """The rates of one class of links in bit/s, 0 for a link without a limit, and its queue in ns."""

    __slots__ = ("down", "queue_ns", "up")

    def __init__(self, up: int, down: int, queue_ns: int) -> None:
        self.up = up
        self.down = down
        self.queue_ns = queue_ns


class _Link:
    """One link, which sends one message after the other. Times are in units of `AccessLinks`."""

    __slots__ = ("free", "queue", "takes", "use")

    def __init__(self, takes: int, queue: int, use: LinkUse) -> None:
        self.takes = takes
        """The units that a byte takes; 0 if there is no limit."""
        self.queue = queue
        self.free = 0
        """The time at which all messages that have entered so far have left."""
        self.use = use
        """The use of the links of its class and direction."""


class AccessLinks:
    """The up and down links of the peers of a trial, or of those of a host."""

    __slots__ = ("_down", "_last", "_overhead", "_second", "_units", "_up", "counting", "use")

    def __init__(self, classes: Sequence[LinkRates], links: Sequence[int], overhead: int) -> None:
        """`links[peer]` is the index of the peer's class; `overhead` (bytes) is added to each message."""
        rates = [rate for each in classes for rate in (each.up, each.down) if rate]
        second = math.lcm(NANOSECONDS, *rates)
        self._second = second
        self._units = second // NANOSECONDS
        """The units of time in a nanosecond. Most rates need no finer one, and to multiply times takes longer
        than all else that a link does."""
        self._overhead = overhead
        self.counting = False
        """This is true while the use of links is counted."""
        self.use = [LinkUse() for _ in range(2 * len(classes))]
        """The use of the up links of each class, followed by that of its down links."""
        up = [8 * second // each.up if each.up else 0 for each in classes]
        down = [8 * second // each.down if each.down else 0 for each in classes]
        queues = [each.queue_ns * self._units for each in classes]
        self._up = [_Link(up[index], queues[index], self.use[2 * index]) for index in links]
        self._down = [_Link(down[index], queues[index], self.use[2 * index + 1]) for index in links]
        slowest = max([*up, *down], default=0)
        self._last = max(queues, default=0) + slowest * (_LARGEST_ROW + overhead)
        """A row has left a link so many units after it entered, or before."""

    def instant(self, ns: int) -> int:
        """Return a time in ns in units."""
        return ns if self._units == 1 else ns * self._units

    def nanoseconds(self, instant: int) -> int:
        """Return a time in units in ns, rounded to the nearest."""
        return instant if self._units == 1 else (2 * instant + self._units) // (2 * self._units)

    def seconds(self, instant: int) -> float:
        """Return a time in units in seconds."""
        return instant / self._second

    def bits(self, size: int) -> int:
        """Return the bits that a message of `size` bytes has on a link."""
        return 8 * (size + self._overhead)

    def fit_words(self, end: float) -> bool:
        """Return whether instants of rows fit words of 64 bits in a trial that ends at `end` (s)."""
        return math.ceil(end) * self._units * NANOSECONDS + self._last <= _WORD

    def limits_down(self, peer: int) -> bool:
        """Return whether the peer's down link has a limit."""
        return self._down[peer].takes != 0

    def send(self, peer: int, at: int, size: int) -> int:
        """Return when a message of `size` bytes that enters the peer's up link at `at` leaves it, in units.

        Returns `DROPPED` if it does not fit into the queue. Calls for a peer are in order of time.
        """
        return self._pass(self._up[peer], at, size)

    def receive(self, peer: int, at: int, size: int) -> int:
        """Return when a message whose last bit reaches the peer's down link at `at` has gone through it.

        Returns `DROPPED` if it does not fit into the queue. Calls for a peer are in order of time.
        """
        return self._pass(self._down[peer], at, size)

    def _pass(self, link: _Link, at: int, size: int) -> int:
        """Return when a message that enters a link leaves it, or `DROPPED`.

        The limit counts what waits and what is left of the message being sent, and drops at the moment of
        entering. What finds the link idle is sent at once and needs no room.
        """
        if not link.takes:
            return at
        takes, free = (size + self._overhead) * link.takes, link.free
        waits = free - at
        if waits <= 0:
            waits = 0
            leaves = at + takes
        elif waits + takes > link.queue:
            link.use.drops += self.counting
            return DROPPED
        else:
            leaves = free + takes
        link.free = leaves
        if self.counting:
            link.use.add(size + self._overhead, waits // self._units)
        return leaves


def nearest_ns(seconds: float) -> int:
    """Return a time that is not negative in ns, rounded as `round` does, which takes far longer compiled."""
    exact = seconds * NANOSECONDS
    below = i64(exact)
    rest = exact - float(below)
    return int(below + 1 if rest > 0.5 or (rest == 0.5 and below & 1) else below)
