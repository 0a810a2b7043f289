"""The messages that are alone on a shared link, for which the time of departure is all that is needed.

Most links are idle most of the time. What is here answers for them with whole numbers; as soon as a second
message enters while the first is still there, the first moves to `SharedLinks`, which has the same rules.
"""

from __future__ import annotations

from typing import Final

from librt.vecs import vec
from mypy_extensions import i64

from emulator.network.access_links import NANOSECONDS
from emulator.network.shared_links import SharedLinks

NOT_ALONE: Final = -1
"""This number stands for the departure of a message that finds another one on its link."""
_NONE: Final = -1


class LoneMessages:
    """At most one message on each link of `SharedLinks`; times are in units, parts of a nanosecond.

    `SharedLinks` has its own, finer parts: what is here takes part only where a unit holds all departures.
    """

    def __init__(self, shared: SharedLinks, links: int) -> None:
        self._shared = shared
        self._entered = vec[i64]([i64(0)] * links)
        self._until = vec[i64]([i64(_NONE)] * links)
        """When the message has gone through each link; what is over is of no more interest."""
        self._unit = shared.instant(1) // shared.parts(1)
        """The units of a nanosecond."""
        self._second = self._unit * NANOSECONDS
        self._others = vec[i64]([i64(0)] * links)
        self._sizes = vec[i64]([i64(0)] * links)
        self._counted = vec[i64]([i64(0)] * links)
        self.events = vec[i64]([i64(_NONE)] * links)
        """The event that was scheduled for each link's message, -1 if it is lost after the link."""
        self.orders = vec[i64]([i64(0)] * links)
        """The order of that event."""
        self.ways = vec[i64]([i64(0)] * links)
        """The time (ns) that the message takes after the link."""

    def send(self, peer: int, receiver: int, now_ns: int, size: int) -> int:
        """Return when a message of `size` bytes leaves the peer's up link if it stays alone there, or
        `NOT_ALONE` if it does not enter alone."""
        at = now_ns * self._unit
        return self._enter(2 * peer, receiver, at, size) if self._shared.limits(2 * peer) else at

    def receive(self, peer: int, sender: int, at: int, size: int) -> int:
        """Return when a message has gone through the peer's down link if it stays alone there, or
        `NOT_ALONE` if it does not enter alone."""
        return self._enter(2 * peer + 1, sender, at, size)

    def _enter(self, link: i64, other: i64, at: i64, size: i64) -> int:
        if self._until[link] > at:
            return NOT_ALONE
        self._end(link)
        shared = self._shared
        if not shared.is_idle(int(link), int(at)):
            return NOT_ALONE
        until = at + i64(shared.taken(int(link), int(size)))
        self._entered[link], self._until[link] = at, until
        self._others[link], self._sizes[link] = other, size
        self._counted[link] = 1 if shared.counting else 0
        self.events[link] = _NONE
        return int(until)

    def keep(self, link: i64, event: i64, order: i64, way_ns: i64) -> None:
        """Remember which event was scheduled for the link's message."""
        self.events[link], self.orders[link], self.ways[link] = event, order, way_ns

    def instant(self, ns: int) -> int:
        """Return a time in ns in units."""
        return ns * self._unit

    def nanoseconds(self, instant: int) -> int:
        """Return a time in units in ns, rounded to the nearest."""
        return (2 * instant + self._unit) // (2 * self._unit)

    def seconds(self, instant: int) -> float:
        """Return a time in units in seconds."""
        return instant / self._second

    def limits_down(self, peer: int) -> bool:
        """Return whether the peer's down link has a limit."""
        return self._shared.limits(2 * peer + 1)

    def parts(self, instant: int) -> int:
        """Return a time in units in the parts of `SharedLinks`."""
        return self._shared.parts(instant)

    def is_there(self, link: int, at: int) -> bool:
        """Return whether the link has a message at this time, which is in the parts of `SharedLinks`."""
        if self._shared.parts(int(self._until[link])) > at:
            return True
        self._end(i64(link))
        return False

    def move(self, link: int, item: object) -> None:
        """Have `SharedLinks` take over the link's message, as the item that it hands back."""
        entered, size, other = int(self._entered[link]), int(self._sizes[link]), int(self._others[link])
        self._shared.enter_at(link, other, self._shared.parts(entered), size, item, self._counted[link] != 0)
        self._until[link] = _NONE

    def _end(self, link: i64) -> None:
        """Forget a message that has gone through, after counting it if it is among those that are counted."""
        if self._until[link] != _NONE:
            self._until[link] = _NONE
            if self._counted[link]:
                self._shared.count_lone(int(link), int(self._sizes[link]))
