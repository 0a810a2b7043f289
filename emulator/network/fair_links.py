"""Fair links of constant rates in machine words, for the messages of a virtual clock.

The rules are those of `SharedLinks`, which has them in whole numbers of any size and is what tests hold this
against. A time is a whole number of nanoseconds, and a rest in parts of one. What waits at links are events
of the queue, by their numbers: nothing here is an object for each message.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from librt.vecs import append, vec
from mypy_extensions import i64

from emulator.network.access_links import NANOSECONDS, LinkRates
from emulator.network.link_use import LinkUse

NOBODY: Final[i64] = -1
"""This number stands for no event, and for a time that is not known."""
_FINE: Final = 2**16 * 3**5 * 5**3 * 7 * 11 * 13
"""The parts of a unit in which each bit takes a whole number, so that divisions by small numbers of peers
leave whole ones."""
_ROUNDING_BITS: Final = 28
"""A time that is less than this power of a half nanosecond before the middle of two counts as the middle."""
_SECOND: Final = 1e9
_WORD: Final = 2**61
_LARGEST: Final = 2**26
"""No message has as many bytes."""

_LINK: Final[i64] = 16
"""The words of a link, of which the following are used."""
_CLOCK: Final[i64] = 0
_CLOCK_PART: Final[i64] = 1
_SERVED: Final[i64] = 2
"""The work that each peer's messages have had since the link was idle, as time at the link's rate."""
_SERVED_PART: Final[i64] = 3
_LEFT: Final[i64] = 4
"""The work that is left of all messages."""
_LEFT_PART: Final[i64] = 5
_FIRST: Final[i64] = 6
"""The message that departs next; from it on, the message of each peer that is being sent is chained."""
_LAST: Final[i64] = 7
_HEADS: Final[i64] = 8
"""The number of messages that are being sent."""
_ENTERED: Final[i64] = 9
_DUE: Final[i64] = 10
"""The time at which the next message departs unless another one enters before."""
_DUE_PART: Final[i64] = 11
_AWAITED: Final[i64] = 12
"""The earliest time at which somebody is going to ask for departures."""
_AWAITED_PART: Final[i64] = 13

_EVENT: Final[i64] = 16
"""The words of an event, of which the following are used."""
_GONE: Final[i64] = 0
"""The work that a peer has had when its message has gone through; before it is sent, the message's own."""
_GONE_PART: Final[i64] = 1
_NUMBER: Final[i64] = 2
_PEER: Final[i64] = 3
_NEXT: Final[i64] = 4
"""The message after this one: of those being sent, or of those that wait behind the same one."""
_BEHIND: Final[i64] = 5
"""The first message that waits behind one that is being sent, and the last one."""
_TAIL: Final[i64] = 6
_SIZE: Final[i64] = 7
"""The bytes of a message that is counted, else `NOBODY`."""
_ALONE: Final[i64] = 8
"""The time at which a message that is counted would have departed alone."""
_ALONE_PART: Final[i64] = 9
_REACHES: Final[i64] = 10
_REACHES_PART: Final[i64] = 11


class FairLinks:
    """The up and down links of the peers of a trial.

    Peer p's up link has the number 2p, its down link 2p + 1. At one link times never go back: an earlier
    time than the last one counts as the last one.
    """

    __slots__ = (
        "_bytes_take",
        "_classes",
        "_events",
        "_fine",
        "_links",
        "_overhead",
        "_rooms",
        "_unit",
        "_units",
        "counting",
        "gone",
        "gone_part",
        "use",
    )

    def __init__(self, classes: Sequence[LinkRates], links: Sequence[int], overhead: int) -> None:
        """`links[peer]` is the index of the peer's class; `overhead` (bytes) is added to each message."""
        units = _units_of(classes)
        self._units: i64 = units
        """The units, in which each bit takes a whole number, of a nanosecond."""
        self._fine: i64 = _FINE
        self._unit: i64 = units * _FINE
        """The parts of a nanosecond."""
        takes = [taken for each in classes for taken in _bytes_take(each, units)]
        self._bytes_take = vec[i64](takes)
        """The units that a byte takes on the up links of each class, followed by that on its down links; 0
        where there is no limit."""
        self._rooms = vec[i64]([each.queue_ns for each in classes])
        self._classes = vec[i64](links)
        self._overhead: i64 = overhead
        self._links = vec[i64]([0] * (2 * len(links) * int(_LINK)))
        for link in range(2 * len(links)):
            first = _LINK * i64(link)
            for word in (_FIRST, _LAST, _DUE, _AWAITED):
                self._links[first + word] = NOBODY
        self._events = vec[i64]()
        self.gone: i64 = 0
        """The time (ns) at which the message that was taken last has gone through."""
        self.gone_part: i64 = 0
        self.counting = False
        """This is true while the use of links is counted for the messages that enter."""
        self.use = [LinkUse() for _ in range(2 * len(classes))]
        """The use of the up links of each class, followed by that of its down links."""

    @staticmethod
    def fit(classes: Sequence[LinkRates], peers: int) -> bool:
        """Return whether words have room for the times and the work of these links."""
        units = _units_of(classes)
        slowest = max(taken for each in classes for taken in _bytes_take(each, units))
        return units * _FINE * (peers + 1) <= _WORD and slowest * _LARGEST <= _WORD

    def limits(self, link: i64) -> bool:
        """Return whether the link has a limit; others are not to be used here."""
        return self._bytes_take[2 * self._classes[link >> 1] + (link & 1)] != 0

    def nanoseconds(self, at: i64, part: i64) -> i64:
        """Return a time in ns, rounded to the nearest."""
        unit = self._unit
        return at + 1 if 2 * part + unit + (unit >> _ROUNDING_BITS) >= 2 * unit else at

    def seconds(self, at: i64, part: i64) -> float:
        """Return a time in seconds."""
        return (float(at) + float(part) / float(self._unit)) / _SECOND

    def set_reach(self, event: i64, at: i64, part: i64) -> None:
        """Keep the time at which a message reaches its receiver's down link."""
        self._know(event)
        first = _EVENT * event
        self._events[first + _REACHES] = at
        self._events[first + _REACHES_PART] = part

    def reach(self, event: i64) -> i64:
        """Return the time (ns) at which a message reaches its receiver's down link, without the rest."""
        return self._events[_EVENT * event + _REACHES]

    def reach_part(self, event: i64) -> i64:
        """Return the rest of this time in parts."""
        return self._events[_EVENT * event + _REACHES_PART]

    def has_room(self, link: i64, size: i64) -> bool:
        """Return whether a message of `size` bytes fits at the time for which departures were taken last.

        What finds the link idle is sent at once and needs no room. What does not fit counts as dropped.
        """
        links, first = self._links, _LINK * link
        if links[first + _FIRST] == NOBODY or links[first + _LEFT] | links[first + _LEFT_PART] == 0:
            return True
        takes = (size + self._overhead) * self._bytes_take[2 * self._classes[link >> 1] + (link & 1)]
        left = links[first + _LEFT] + takes // self._units
        part = links[first + _LEFT_PART] + takes % self._units * self._fine
        if part >= self._unit:
            left, part = left + 1, part - self._unit
        room = self._rooms[self._classes[link >> 1]]
        # A message that fits exactly is not dropped because a share was rounded.
        fits = left < room or (left == room and part <= self._unit >> _ROUNDING_BITS)
        if self.counting and not fits:
            self.use[int(2 * self._classes[link >> 1] + (link & 1))].drops += 1
        return fits

    def enter(self, link: i64, peer: i64, at: i64, part: i64, size: i64, event: i64) -> None:
        """Put a message that fits into a link, from which departures up to now were taken; `peer` is at the
        other end of its way."""
        self._know(event)
        self._move(link, at, part)
        links, events, first, own = self._links, self._events, _LINK * link, _EVENT * event
        own_class, way = self._classes[link >> 1], link & 1
        takes = (size + self._overhead) * self._bytes_take[2 * own_class + way]
        work, rest = takes // self._units, takes % self._units * self._fine
        unit = self._unit
        self._add(first + _LEFT, work, rest)
        links[first + _ENTERED] += 1
        events[own + _NUMBER] = links[first + _ENTERED]
        events[own + _PEER] = peer
        events[own + _NEXT] = NOBODY
        events[own + _BEHIND] = NOBODY
        events[own + _SIZE] = NOBODY
        if self.counting:
            alone, alone_part = links[first + _CLOCK] + work, links[first + _CLOCK_PART] + rest
            if alone_part >= unit:
                alone, alone_part = alone + 1, alone_part - unit
            events[own + _SIZE] = size + self._overhead
            events[own + _ALONE] = alone
            events[own + _ALONE_PART] = alone_part
        events[own + _GONE] = work
        events[own + _GONE_PART] = rest
        head = links[first + _FIRST]
        while head != NOBODY and events[_EVENT * head + _PEER] != peer:
            head = events[_EVENT * head + _NEXT]
        if head == NOBODY:
            self._begin(first, event)
        elif events[_EVENT * head + _BEHIND] == NOBODY:
            events[_EVENT * head + _BEHIND] = event
            events[_EVENT * head + _TAIL] = event
            # With a message behind it, the last peer's message departs by what it has had.
            links[first + _DUE] = NOBODY
        else:
            events[_EVENT * events[_EVENT * head + _TAIL] + _NEXT] = event
            events[_EVENT * head + _TAIL] = event

    def take(self, link: i64, at: i64, part: i64) -> i64:
        """Return the next message that has gone through up to this time, and say when in `gone` and
        `gone_part`; `NOBODY` if there is none, and then the link has worked up to the time."""
        links, events, first = self._links, self._events, _LINK * link
        event = links[first + _FIRST]
        if event == NOBODY or not self._is_due(first, at, part):
            self._move(link, at, part)
            return NOBODY
        own = _EVENT * event
        self.gone, self.gone_part = links[first + _DUE], links[first + _DUE_PART]
        self._move(link, self.gone, self.gone_part)
        links[first + _SERVED] = events[own + _GONE]
        links[first + _SERVED_PART] = events[own + _GONE_PART]
        if events[own + _SIZE] != NOBODY:
            self._count(link, event)
        links[first + _FIRST] = events[own + _NEXT]
        if events[own + _NEXT] == NOBODY:
            links[first + _LAST] = NOBODY
        links[first + _HEADS] -= 1
        links[first + _DUE] = NOBODY
        behind = events[own + _BEHIND]
        if behind != NOBODY:
            events[_EVENT * behind + _BEHIND] = events[_EVENT * behind + _NEXT]
            events[_EVENT * behind + _TAIL] = events[own + _TAIL]
            self._begin(first, behind)
        elif links[first + _FIRST] == NOBODY:
            links[first + _SERVED] = 0
            links[first + _SERVED_PART] = 0
            links[first + _LEFT] = 0
            links[first + _LEFT_PART] = 0
        return event

    def await_next(self, link: i64) -> bool:
        """Return whether somebody has to ask for departures at a time that nobody is going to ask at, which
        is `gone` and `gone_part` then."""
        links, first = self._links, _LINK * link
        if links[first + _FIRST] == NOBODY:
            return False
        self._find_due(first)
        at, part, awaited = links[first + _DUE], links[first + _DUE_PART], links[first + _AWAITED]
        if awaited != NOBODY and (awaited < at or (awaited == at and links[first + _AWAITED_PART] <= part)):
            return False
        links[first + _AWAITED] = self.gone = at
        links[first + _AWAITED_PART] = self.gone_part = part
        return True

    def is_awaited(self, link: i64, at: i64, part: i64) -> bool:
        """Return whether departures are to be asked for at this time, at which it is asked; nothing is
        awaited then any more."""
        links, first = self._links, _LINK * link
        if links[first + _AWAITED] != at or links[first + _AWAITED_PART] != part:
            return False
        links[first + _AWAITED] = NOBODY
        return True

    def _begin(self, first: i64, event: i64) -> None:
        """Begin to send a message whose own work is in `_GONE`, and chain it by when it is through."""
        links, events, own = self._links, self._events, _EVENT * event
        gone = links[first + _SERVED] + events[own + _GONE]
        part = links[first + _SERVED_PART] + events[own + _GONE_PART]
        if part >= self._unit:
            gone, part = gone + 1, part - self._unit
        events[own + _GONE] = gone
        events[own + _GONE_PART] = part
        before, last = NOBODY, links[first + _LAST]
        if last != NOBODY and self._is_later(event, last):
            before = last
        else:
            after = links[first + _FIRST]
            while after != NOBODY and self._is_later(event, after):
                before, after = after, events[_EVENT * after + _NEXT]
        if before == NOBODY:
            events[own + _NEXT] = links[first + _FIRST]
            links[first + _FIRST] = event
        else:
            events[own + _NEXT] = events[_EVENT * before + _NEXT]
            events[_EVENT * before + _NEXT] = event
        if events[own + _NEXT] == NOBODY:
            links[first + _LAST] = event
        links[first + _HEADS] += 1
        links[first + _DUE] = NOBODY

    def _is_later(self, event: i64, other: i64) -> bool:
        """Return whether a message is through after another one, or with it and entered after it."""
        events, one, two = self._events, _EVENT * event, _EVENT * other
        if events[one + _GONE] != events[two + _GONE]:
            return events[one + _GONE] > events[two + _GONE]
        if events[one + _GONE_PART] != events[two + _GONE_PART]:
            return events[one + _GONE_PART] > events[two + _GONE_PART]
        return events[one + _NUMBER] > events[two + _NUMBER]

    def _is_due(self, first: i64, at: i64, part: i64) -> bool:
        """Return whether the next message departs up to this time."""
        self._find_due(first)
        due = self._links[first + _DUE]
        return due < at or (due == at and self._links[first + _DUE_PART] <= part)

    def _find_due(self, first: i64) -> None:
        """Find when the next message departs if nothing enters before."""
        links, events = self._links, self._events
        if links[first + _DUE] != NOBODY:
            return
        own, sharing, unit = _EVENT * links[first + _FIRST], links[first + _HEADS], self._unit
        if sharing == 1 and events[own + _BEHIND] == NOBODY:
            work, part = links[first + _LEFT], links[first + _LEFT_PART]
        else:
            work = events[own + _GONE] - links[first + _SERVED]
            part = events[own + _GONE_PART] - links[first + _SERVED_PART]
            if part < 0:
                work, part = work - 1, part + unit
            part *= sharing
            work = work * sharing + part // unit
            part %= unit
        if work < 0:
            work = part = 0
        work += links[first + _CLOCK]
        part += links[first + _CLOCK_PART]
        if part >= unit:
            work, part = work + 1, part - unit
        links[first + _DUE] = work
        links[first + _DUE_PART] = part

    def _move(self, link: i64, at: i64, part: i64) -> None:
        """Let the link work up to this time, before which nothing departs."""
        links, first, unit = self._links, _LINK * link, self._unit
        took = at - links[first + _CLOCK]
        rest = part - links[first + _CLOCK_PART]
        if rest < 0:
            took, rest = took - 1, rest + unit
        if took < 0:
            return
        links[first + _CLOCK] = at
        links[first + _CLOCK_PART] = part
        sharing = links[first + _HEADS]
        if sharing == 0:
            return
        self._add(first + _LEFT, -took, -rest)
        if sharing > 1:
            each = took // sharing
            rest = ((took - each * sharing) * unit + rest) // sharing
            took = each
        self._add(first + _SERVED, took, rest)

    def _add(self, word: i64, time: i64, part: i64) -> None:
        """Add a time to the one in a word and the next."""
        links, unit = self._links, self._unit
        time += links[word]
        part += links[word + 1]
        if part >= unit:
            time, part = time + 1, part - unit
        elif part < 0:
            time, part = time - 1, part + unit
        links[word] = time
        links[word + 1] = part

    def _count(self, link: i64, event: i64) -> None:
        """Count the message that departs now."""
        events, own = self._events, _EVENT * event
        waited = self.gone - events[own + _ALONE]
        if self.gone_part < events[own + _ALONE_PART]:
            waited -= 1
        use = self.use[int(2 * self._classes[link >> 1] + (link & 1))]
        use.add(int(events[own + _SIZE]), int(waited) if waited > 0 else 0)

    def _know(self, event: i64) -> None:
        """Make room for the words of an event."""
        while len(self._events) <= _EVENT * event:
            for _ in range(max(len(self._events), 1024 * int(_EVENT))):
                self._events = append(self._events, i64(0))


def _units_of(classes: Sequence[LinkRates]) -> int:
    """Return in how many units to divide a nanosecond, so that each bit of each link takes whole ones."""
    rates = [rate for each in classes for rate in (each.up, each.down) if rate]
    return math.lcm(NANOSECONDS, *rates) // NANOSECONDS


def _bytes_take(rates: LinkRates, units: int) -> list[int]:
    """Return the units that a byte takes on the up link and on the down link of a class; 0 for no limit."""
    return [8 * units * NANOSECONDS // rate if rate else 0 for rate in (rates.up, rates.down)]
