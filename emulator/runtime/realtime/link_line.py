"""The links of peers in real time: what has gone through a link goes on when the agenda comes to it."""

from __future__ import annotations

import time
from collections.abc import Callable

from emulator.messages.message import Message
from emulator.network.access_links import DROPPED, NANOSECONDS
from emulator.network.peer_network import Network
from emulator.network.rate_change import NEVER
from emulator.network.shared_links import SharedLinks
from emulator.runtime.realtime.agenda import Agenda
from emulator.runtime.realtime.clock import TrialClock
from emulator.runtime.realtime.rate_meter import Departure, RateMeter

Going = Callable[[float], None]
"""A function that handles a message which has gone through a link; it gets the trial time (s) at which the
message departed."""


class LinkLine:
    """Takes messages through the links of a host's peers, if they have any."""

    def __init__(self, network: Network, agenda: Agenda, clock: TrialClock) -> None:
        self._access = network.access
        self._shared = network.shared
        self._agenda = agenda
        self._clock = clock
        self._meter = RateMeter(network.link_classes, network.link_use())
        self.departure: Departure | None = None
        """The departure of the message that `leave` was asked for last, if its up link is measured."""

    def leave(self, sender: int, at: float, message: Message) -> float | None:
        """Return when a message that enters its sender's up link leaves it, or None if it does not fit.

        All are trial times in seconds. A shared link says later when that is, and at first `at`.
        """
        access, shared, link = self._access, self._shared, 2 * sender
        if access is not None:
            size = message.byte_size()
            instant = access.send(sender, access.instant(round(at * NANOSECONDS)), size)
            if instant == DROPPED:
                return None
            leaves = access.nanoseconds(instant) / NANOSECONDS
            measured = access.counting
            self.departure = self._meter.enter(link, at, leaves, access.bits(size)) if measured else None
            return leaves
        if shared is None or not shared.limits(link):
            return at
        entered = shared.instant(round(at * NANOSECONDS))
        return at if shared.fits(link, entered, message.byte_size()) else None

    def go(self, sender: int, receiver: int, leaves: float, message: Message, going: Going | None) -> None:
        """Go on with a message when it has left the up link; `leaves` is what `leave` has told. With None it
        is lost after it."""
        shared, link = self._shared, 2 * sender
        if shared is not None and shared.limits(link):
            entered = shared.instant(round(leaves * NANOSECONDS))
            self._share(shared, link, receiver, entered, message.byte_size(), going)
        elif going is not None:
            going(leaves)

    def passed(self, departure: Departure | None, by: float | None = None) -> None:
        """Take note that the host goes on with a message that has left its up link, when the agenda comes to
        it. It is not late before `by` (monotonic, s), if that is given: its receiver holds it until it is
        due."""
        if departure is not None:
            late = self._agenda.late
            if by is not None:
                late = min(late, max(time.monotonic() - by, 0.0))
            self._meter.leave(departure, late / self._clock.scale)

    def limits_down(self, receiver: int) -> bool:
        """Return whether the down link of a peer has a limit."""
        access, shared = self._access, self._shared
        if access is not None:
            return access.limits_down(receiver)
        return shared is not None and shared.limits(2 * receiver + 1)

    def receive(self, receiver: int, sender: int, at_ns: int, message: Message, going: Going) -> bool:
        """Go on with a message that reaches a limited down link at `at_ns` when it has gone through. Returns
        False if it does not fit."""
        access, shared = self._access, self._shared
        link, size = 2 * receiver + 1, message.byte_size()
        if access is not None:
            arrives = access.receive(receiver, access.instant(at_ns), size)
            if arrives == DROPPED:
                return False
            due = access.nanoseconds(arrives) / NANOSECONDS
            if access.counting:
                departure = self._meter.enter(link, at_ns / NANOSECONDS, due, access.bits(size))
                self._agenda.add(due, self._go_through, departure, going)
            else:
                self._agenda.add(due, going, due)
        elif shared is not None:
            reaches = shared.instant(at_ns)
            if not shared.fits(link, reaches, size):
                return False
            self._share(shared, link, sender, reaches, size, going)
        return True

    def _go_through(self, departure: Departure, going: Going) -> None:
        """Go on with a message that has gone through a down link whose rate is measured."""
        self.passed(departure)
        going(departure.at)

    def _share(
        self, shared: SharedLinks, link: int, peer: int, at: int, size: int, going: Going | None
    ) -> None:
        """Have a message that fits enter a shared link; `peer` is at the other end of its way."""
        if shared.counting or not shared.is_steady(link):
            # The link has worked up to now. It may be idle although the host has not come to its departures.
            self._meter.share(link, shared.bits(size), shared.bits_left(link))
        shared.enter(link, peer, at, size, going)
        self._serve(link, at)

    def _serve(self, link: int, until: int) -> None:
        """Go on with what has gone through a shared link up to this time, and come back for what is next."""
        shared = self._shared
        assert shared is not None
        for leaves, going in shared.take(link, until):
            if callable(going):
                going(shared.nanoseconds(leaves) / NANOSECONDS)
        due = shared.await_next(link)
        if due != NEVER:
            self._agenda.add(shared.seconds(due), self._depart, link, due)

    def _depart(self, link: int, due: int) -> None:
        shared = self._shared
        if shared is not None and shared.is_awaited(link, due):
            self._serve(link, due)
            use = shared.measured_use(link)
            if use is not None:
                left, piece = shared.bits_left(link), shared.piece(link)
                self._meter.work(link, left, self._clock.now(), piece, use)
