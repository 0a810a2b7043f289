"""The way of messages through fair links on a virtual clock: up link, delay, down link.

A message at a link is an event that the queue holds without a time: a row of a message pool, the arrival of
a message, or nothing where the network has lost the message, which takes its share of the up link all the
same.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import i64

from emulator.network.access_links import nearest_ns
from emulator.network.fair_links import NOBODY, FairLinks
from emulator.runtime.virtual.event_queue import EventQueue
from emulator.runtime.virtual.events import Arrival

_FIRST_SERVICE: Final = -(1 << 60)
"""The number of the first event of a link, below all others: at equal times they come before them."""
_SECOND: Final = 1e9


class FairWay:
    """The fair links of a trial, and the events of what is on its way through them."""

    def __init__(self, queue: EventQueue, links: FairLinks) -> None:
        self._queue = queue
        self._links = links
        self._services: i64 = _FIRST_SERVICE
        """The number of the last event of a link."""

    def has_room(self, sender: i64, now: float, size: i64) -> bool:
        """Return whether a message of `size` bytes fits into its sender's up link now (s)."""
        links, link = self._links, 2 * sender
        if not links.limits(link):
            return True
        self._serve(link, i64(nearest_ns(now)), 0, now)
        return links.has_room(link, size)

    def send(self, event: i64, sender: i64, receiver: i64, now: float, size: i64) -> None:
        """Send what the queue holds, after `has_room` has said that it fits."""
        links, link, ns = self._links, 2 * sender, i64(nearest_ns(now))
        if not links.limits(link):
            self._cross(event, ns, 0, now)
            return
        links.enter(link, receiver, ns, 0, size, event)
        self._come_back(link, now)

    def enter_down(self, event: i64, sender: i64, receiver: i64, now: float, size: i64) -> bool:
        """Put what the queue holds, whose last bit has reached its receiver's down link, into this link.

        Returns whether it fits.
        """
        links, link = self._links, 2 * receiver + 1
        ns, part = links.reach(event), links.reach_part(event)
        self._serve(link, ns, part, now)
        if not links.has_room(link, size):
            return False
        links.enter(link, sender, ns, part, size, event)
        self._come_back(link, now)
        return True

    def serve(self, now: float) -> None:
        """Go on with what has gone through the link whose event the queue has popped."""
        queue = self._queue
        link, ns, part = queue.receiver, queue.row, queue.reaches
        if self._links.is_awaited(link, ns, part):
            self._serve(link, ns, part, now)
            self._come_back(link, now)

    def _serve(self, link: i64, ns: i64, part: i64, now: float) -> None:
        """Go on with what has gone through a link up to this instant."""
        links = self._links
        event = links.take(link, ns, part)
        while event != NOBODY:
            if link & 1:
                self._arrive(event, links.gone, links.gone_part, now)
            else:
                self._cross(event, links.gone, links.gone_part, now)
            event = links.take(link, ns, part)

    def _come_back(self, link: i64, now: float) -> None:
        """Have the link served when its next message goes through, unless it is served before."""
        links = self._links
        if links.await_next(link):
            self._services += 1
            at = max(links.seconds(links.gone, links.gone_part), now)
            self._queue.push_service(at, self._services, link, links.gone, links.gone_part)

    def _cross(self, event: i64, ns: i64, part: i64, now: float) -> None:
        """Send what has left its up link at this instant on its way."""
        queue, links = self._queue, self._links
        way, receiver = queue.held_way(event), queue.held_receiver(event)
        if way < 0:
            queue.let_go(event)
            return
        reaches = ns + way
        if not links.limits(2 * receiver + 1):
            self._arrive(event, reaches, part, now)
            return
        at = max(links.seconds(reaches, part), now)
        links.set_reach(event, reaches, part)
        if queue.holds_row(event):
            queue.put_row(event, at, 0)
            return
        arrival = queue.held_entry(event)
        assert isinstance(arrival, Arrival)
        arrival.at = at
        arrival.reaches = 0
        queue.put_entry(event, arrival)

    def _arrive(self, event: i64, ns: i64, part: i64, now: float) -> None:
        """Have what is held arrive at this instant, or now if that was rounded to before now."""
        queue, links = self._queue, self._links
        at = max(max(float(links.nanoseconds(ns, part)) / _SECOND, links.seconds(ns, part)), now)
        if queue.holds_row(event):
            queue.put_row(event, at, NOBODY)
            return
        arrival = queue.held_entry(event)
        assert isinstance(arrival, Arrival)
        arrival.at = at
        queue.put_entry(event, arrival)
