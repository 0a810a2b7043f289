"""The links of peers in real time: what has gone through a link goes on when the agenda comes to it."""

from __future__ import annotations

from collections.abc import Callable

from emulator.messages.message import Message
from emulator.network.access_links import DROPPED, NANOSECONDS
from emulator.network.peer_network import Network
from emulator.network.shared_links import NEVER
from emulator.runtime.realtime.agenda import Agenda

Going = Callable[[float], None]
"""A function that handles a message which has gone through a link; it gets the trial time (s) at which the
message departed."""


class LinkLine:
    """Takes messages through the links of a host's peers, if they have any."""

    def __init__(self, network: Network, agenda: Agenda) -> None:
        self._access = network.access
        self._shared = network.shared
        self._agenda = agenda

    def leave(self, sender: int, at: float, message: Message) -> float | None:
        """Return when a message that enters its sender's up link leaves it, or None if it does not fit.

        All are trial times in seconds. A shared link says later when that is, and at first `at`.
        """
        access, shared, link = self._access, self._shared, 2 * sender
        if access is not None:
            leaves = access.send(sender, access.instant(round(at * NANOSECONDS)), message.byte_size())
            return None if leaves == DROPPED else access.nanoseconds(leaves) / NANOSECONDS
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
            shared.enter(link, receiver, entered, message.byte_size(), going)
            self._serve(link, entered)
        elif going is not None:
            going(leaves)

    def limits_down(self, receiver: int) -> bool:
        """Return whether the down link of a peer has a limit."""
        access, shared = self._access, self._shared
        if access is not None:
            return access.limits_down(receiver)
        return shared is not None and shared.limits(2 * receiver + 1)

    def receive(self, receiver: int, sender: int, at_ns: int, message: Message, going: Going) -> bool:
        """Go on with a message that reaches a limited down link at `at_ns` when it has gone through. Returns
        False if it does not fit."""
        access, shared, size = self._access, self._shared, message.byte_size()
        if access is not None:
            arrives = access.receive(receiver, access.instant(at_ns), size)
            if arrives == DROPPED:
                return False
            due = access.nanoseconds(arrives) / NANOSECONDS
            self._agenda.add(due, going, due)
        elif shared is not None:
            link, reaches = 2 * receiver + 1, shared.instant(at_ns)
            if not shared.fits(link, reaches, size):
                return False
            shared.enter(link, sender, reaches, size, going)
            self._serve(link, reaches)
        return True

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
        if self._shared is not None and self._shared.is_awaited(link, due):
            self._serve(link, due)
