"""Links on which a departure depends on what comes later: they are shared fairly, or their rates change.

On a fair link each peer at the other end that has work gets an equal share of the rate at each instant, as
connections do, and its messages are in order (processor sharing). A fifo link sends one message after the
other. A change of rate holds at once for what is left of a message. All else is as on `AccessLinks`.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Sequence
from typing import Final

from emulator.network.access_links import NANOSECONDS, LinkRates
from emulator.network.fair_links import FairLinks
from emulator.network.link_use import LinkUse
from emulator.network.rate_change import NEVER, RateChange

_UNKNOWN: Final = -2
_FINE: Final = 2**24 * 3**8 * 5**4 * 7**2 * 11 * 13
"""The parts of a unit of `AccessLinks`, so that divisions by small numbers of peers leave whole ones."""
_ROUNDING_BITS: Final = 30
"""A time that is less than this power of a half nanosecond before the middle of two counts as the middle."""
_NOTHING: Final[list[tuple[int, object]]] = []
"""The answer that nothing has departed."""


class _Link:
    """One link: what waits at it, and how far it has come.

    Work is bits times the parts of a second, so a link of rate r does r of it in each part.
    """

    __slots__ = (
        "ahead",
        "awaited",
        "causes",
        "clock",
        "counted",
        "departed",
        "entered",
        "heads",
        "left",
        "next",
        "piece",
        "rates",
        "room",
        "sent",
        "times",
        "unit",
        "use",
        "waiting",
    )

    def __init__(
        self, times: list[int], rates: list[int], causes: list[RateChange | None], room: int
    ) -> None:
        """`rates[i]` holds from `times[i]` on, by a change unless the link's own rate holds; `room` is the
        most work that may be left with a message that has to wait."""
        self.times = times
        self.rates = rates
        self.causes = causes
        self.room = room
        self.clock = 0
        self.piece = 0
        """The index of the rate that holds at the clock."""
        self.left = 0
        """The work that is left of all messages; it is exact, whoever shares the link."""
        self.sent = 0
        """The work that each peer's messages have had since the link was idle."""
        self.heads: list[tuple[int, int, int, object]] = []
        """A heap of the message of each peer that is being sent: the work at which it has gone through, its
        number, the peer, and the item."""
        self.waiting: dict[int, deque[tuple[int, int, object]]] = {}
        """The work, number and item of the messages of each peer in `heads` that wait behind the first."""
        self.entered = 0
        self.ahead = False
        """This is true if the only message was sent ahead, so that nothing is to be done when it departs."""
        self.departed: list[tuple[int, object]] = []
        """The messages that have gone through and have not been taken."""
        self.counted: dict[int, tuple[int, int]] = {}
        """The time at which each counted message, by its number, would have departed alone, and its bytes."""
        self.use = LinkUse()
        """The use of the links of its class and direction."""
        self.unit = 1
        """The parts of a nanosecond."""
        self.next = _UNKNOWN
        """The time at which the next message departs, if that is known."""
        self.awaited = NEVER
        """The earliest time at which somebody is going to ask for departures."""

    def advance(self, until: int) -> None:
        """Let the link work up to this time; what departs at it has departed."""
        heads = self.heads
        while heads:
            at = self.next_departure()
            if at == NEVER or at > until:
                break
            self.left -= self._move(at)
            gone, entered, peer, item = heads[0]
            self.sent = gone
            if self.ahead:
                self.ahead = False
            else:
                self.departed.append((at, item))
            if self.counted:
                self._count(entered, at)
            self.next = _UNKNOWN
            behind = self.waiting[peer]
            if behind:
                work, number, item = behind.popleft()
                heapq.heapreplace(heads, (gone + work, number, peer, item))
                continue
            heapq.heappop(heads)
            del self.waiting[peer]
            if not heads:
                self.left = self.sent = 0
        if until > self.clock:
            work = self._move(until)
            if heads:
                self.left -= work
                self.sent += work // len(heads)

    def _count(self, entered: int, at: int) -> None:
        """Count the message of this number, which departs now, if it is among those that are counted."""
        told = self.counted.pop(entered, None)
        if told is not None:
            alone, size = told
            self.use.add(size, max(at - alone, 0) // self.unit)

    def count_departed(self, until: int) -> None:
        """Count the message that was sent ahead if it has departed by then, before the link works on."""
        if self.ahead and self.counted:
            at = self.next_departure()
            if at != NEVER and at <= until:
                self._count(self.heads[0][1], at)

    def enter(self, peer: int, work: int, item: object) -> None:
        """Add a message now, at the clock."""
        self.entered += 1
        self.left += work
        behind = self.waiting.get(peer)
        if behind is None:
            self.waiting[peer] = deque()
            heapq.heappush(self.heads, (self.sent + work, self.entered, peer, item))
            self.next = _UNKNOWN
        else:
            behind.append((work, self.entered, item))

    def next_departure(self) -> int:
        """Return when the next message departs if nothing enters before, or `NEVER`."""
        if self.next == _UNKNOWN and self.heads:
            gone, _, peer, _ = self.heads[0]
            sharing = len(self.heads)
            alone = sharing == 1 and not self.waiting[peer]
            self.next = self._finish(self.left if alone else (gone - self.sent) * sharing)
        return self.next if self.heads else NEVER

    def _finish(self, work: int) -> int:
        """Return when so much work is done from now on, or `NEVER`."""
        at, piece = self.clock, self.piece
        if work <= 0:
            return at
        while True:
            rate, last = self.rates[piece], piece + 1 == len(self.times)
            if rate:
                ends = at + (2 * work + rate) // (2 * rate)
                if last or ends <= self.times[piece + 1]:
                    return ends
            elif last:
                return NEVER
            piece += 1
            work -= rate * (self.times[piece] - at)
            at = self.times[piece]

    def _move(self, until: int) -> int:
        """Set the clock, and return the work that the link can do until then."""
        at, piece, work = self.clock, self.piece, 0
        while piece + 1 < len(self.times) and self.times[piece + 1] <= until:
            work += self.rates[piece] * (self.times[piece + 1] - at)
            piece += 1
            at = self.times[piece]
        self.clock, self.piece = until, piece
        return work + self.rates[piece] * (until - at)


class SharedLinks:
    """The up and down links of the peers of a trial, or of those of a host.

    Peer p's up link has the number 2p, its down link 2p + 1. Times are in parts of a nanosecond. At one link
    they never go back: an earlier time than the last one counts as the last one. A message is any object.
    """

    __slots__ = (
        "_changes",
        "_classes",
        "_fair",
        "_limited",
        "_links",
        "_made",
        "_overhead",
        "_second",
        "_unit",
        "counting",
        "use",
    )

    def __init__(
        self,
        classes: Sequence[LinkRates],
        links: Sequence[int],
        overhead: int,
        fair: bool,
        changes: Sequence[RateChange] = (),
    ) -> None:
        """`links[peer]` is the index of the peer's class; `overhead` (bytes) is added to each message.

        Of two changes of a link at a time, the lower rate holds.
        """
        rates = [rate for each in classes for rate in (each.up, each.down) if rate]
        rates += [rate for change in changes for rate in (change.up, change.down) if rate]
        self._unit = math.lcm(NANOSECONDS, *rates) // NANOSECONDS * _FINE
        self._second = self._unit * NANOSECONDS
        self._classes = list(classes)
        self._links = list(links)
        self._overhead = overhead
        self._fair = fair
        self._changes = list(changes)
        own = [(each.up != 0, each.down != 0) for each in classes]
        self._limited = bytes(limited for index in links for limited in own[index])
        """1 for each link that has a limit."""
        self._made: list[_Link | None] = [None] * len(self._limited)
        self.counting = False
        """This is true while the use of links is counted for the messages that enter."""
        self.use = [LinkUse() for _ in range(2 * len(classes))]
        """The use of the up links of each class, followed by that of its down links."""

    def in_words(self) -> FairLinks | None:
        """Return the same links, before any message, in words; None if they are not fair, their rates change,
        or words have no room for them."""
        if not self._fair or self._changes or not FairLinks.fit(self._classes, len(self._links)):
            return None
        return FairLinks(self._classes, self._links, self._overhead)

    def instant(self, ns: int) -> int:
        """Return a time in ns in parts."""
        return ns * self._unit

    def nanoseconds(self, instant: int) -> int:
        """Return a time in parts in ns, rounded to the nearest."""
        return (2 * instant + self._unit + (self._unit >> _ROUNDING_BITS)) // (2 * self._unit)

    def seconds(self, instant: int) -> float:
        """Return a time in parts in seconds."""
        return instant / self._second

    def bits(self, size: int) -> int:
        """Return the bits that a message of `size` bytes has on a link."""
        return 8 * (size + self._overhead)

    def bits_left(self, link: int) -> float:
        """Return the bits that are left of all messages on a link, as far as it has worked."""
        return self._link(link).left / self._second

    def is_steady(self, link: int) -> bool:
        """Return whether the link has one rate for the whole trial."""
        return len(self._link(link).times) == 1

    def piece(self, link: int) -> int:
        """Return which of the link's rates, in time, holds as far as it has worked."""
        return self._link(link).piece

    def measured_use(self, link: int) -> LinkUse | None:
        """Return the use to which the link's rate belongs that holds as far as it has worked: that of the
        change that gives it, or of the link's class; None while the latter is not counted."""
        here = self._link(link)
        change = here.causes[here.piece]
        if change is not None:
            return change.use[link & 1]
        return here.use if self.counting else None

    def limits(self, link: int) -> bool:
        """Return whether the link has a limit; others are not to be used here."""
        return self._limited[link] != 0

    def fits(self, link: int, at: int, size: int) -> bool:
        """Return whether there is room for a message of `size` bytes at this time.

        What finds the link idle is sent at once and needs no room. What does not fit counts as dropped.
        """
        here = self._link(link)
        here.advance(at)
        fits = here.left <= 0 or here.left + self._work(size) <= here.room
        if self.counting and not fits:
            here.use.drops += 1
        return fits

    def enter(self, link: int, peer: int, at: int, size: int, item: object) -> object:
        """Put a message that fits into a link; `peer` is at the other end of its way.

        Returns the message that was sent ahead and is not alone on the link any more, so that it departs
        later than was told; None if there is none.
        """
        here, back = self._link(link), None
        if at > here.clock:
            here.advance(at)
        if here.ahead:
            here.ahead, back = False, here.heads[0][3]
        work = self._work(size)
        here.enter(peer if self._fair else 0, work, item)
        if self.counting:
            here.counted[here.entered] = here.clock + work // self._own_rate(link), size + self._overhead
        return back

    def send_ahead(self, link: int) -> int:
        """Return when the only message on a link departs unless another one enters before, in which case
        `enter` tells; `take` does not give it then. Returns `NEVER` if there are several, or it stalls."""
        here = self._link(link)
        if len(here.heads) != 1 or here.waiting[here.heads[0][2]]:
            return NEVER
        departs = here.next_departure()
        here.ahead = departs != NEVER
        return departs

    def count_departed(self, until: int) -> None:
        """Count what was sent ahead and has departed by then; all else is counted when it departs."""
        for link in filter(None, self._made):
            link.count_departed(until)

    def take(self, link: int, until: int) -> list[tuple[int, object]]:
        """Return when each message has gone through since the last call, up to this time, in order."""
        here = self._link(link)
        here.advance(until)
        departed = here.departed
        if not departed:
            return _NOTHING
        here.departed = []
        return departed

    def await_next(self, link: int) -> int:
        """Return when to ask for departures again, or `NEVER` if an earlier answer says so already."""
        here = self._link(link)
        at = here.next_departure()
        if at == NEVER or (here.awaited != NEVER and here.awaited <= at):
            return NEVER
        here.awaited = at
        return at

    def is_awaited(self, link: int, at: int) -> bool:
        """Return whether departures are to be asked for at this time, at which it is asked; nothing is
        awaited then any more."""
        here = self._link(link)
        if here.awaited != at:
            return False
        here.awaited = NEVER
        return True

    def _work(self, size: int) -> int:
        return 8 * (size + self._overhead) * self._second

    def _own_rate(self, link: int) -> int:
        own = self._classes[self._links[link >> 1]]
        return own.down if link & 1 else own.up

    def _link(self, link: int) -> _Link:
        found = self._made[link]
        if found is None:
            own = self._own_rate(link)
            room = self._classes[self._links[link >> 1]].queue_ns * self._unit * own
            times, rates, causes = self._profile(link, own)
            # A message that fits exactly is not dropped because a share was rounded.
            found = self._made[link] = _Link(times, rates, causes, room + (room >> 60))
            found.use, found.unit = self.use[2 * self._links[link >> 1] + (link & 1)], self._unit
        return found

    def _profile(self, link: int, own: int) -> tuple[list[int], list[int], list[RateChange | None]]:
        """Return the times from which on the link has a rate, these rates, and the changes that give them."""
        changes = list[tuple[int, RateChange]]()
        for change in self._changes:
            then = change.down if link & 1 else change.up
            if then is not None and link >> 1 in change.peers:
                changes.append((then, change))
        bounds = {0}
        for _, change in changes:
            bounds |= {change.begins_ns} if change.ends_ns == NEVER else {change.begins_ns, change.ends_ns}
        times, rates, causes = list[int](), list[int](), list[RateChange | None]()
        for at in sorted(bounds):
            rate = own
            cause: RateChange | None = None
            for then, change in changes:
                holds = change.begins_ns <= at and (change.ends_ns == NEVER or at < change.ends_ns)
                if holds and (cause is None or then < rate):
                    rate, cause = then, change
            if not rates or rates[-1] != rate or causes[-1] is not cause:
                times.append(at * self._unit)
                rates.append(rate)
                causes.append(cause)
        return times, rates, causes
