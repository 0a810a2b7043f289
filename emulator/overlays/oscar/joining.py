"""How a peer comes onto the ring: at an identifier, or behind a peer that it names.

Each peer that is asked either gives the place behind it or names one that is closer to it; the newcomer asks
on. Who gives a place takes the newcomer for its successor at once, so that two never get the same one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from emulator.overlays.oscar.parameters import OscarParameters
from emulator.overlays.oscar.ring import RingNeighbours
from emulator.overlays.oscar.routes import ClockwiseRoutes
from emulator.protocol import Contact, Environment, Message, Timer
from trellis.v1.oscar import RingJoin, RingPlace

_MOST_ASKED: Final = 200
"""Peers that are asked one after the other before the newcomer begins again."""


class Joining:
    """The newcomer's part and that of those who are asked."""

    def __init__(
        self,
        environment: Environment,
        parameters: OscarParameters,
        ring: RingNeighbours,
        routes: ClockwiseRoutes,
        ready: Callable[[], bool],
        levels: Callable[[], int],
        taken: Callable[[RingPlace], None],
        changed: Callable[[], None],
    ) -> None:
        """`taken` gets the place that was given; `changed` follows when a newcomer stands behind here."""
        self._environment = environment
        self._timeout = parameters.timeout
        self._ring = ring
        self._routes = routes
        self._ready = ready
        self._levels = levels
        self._taken = taken
        self._changed = changed
        self._failed: Callable[[], None] = _nothing
        self._pending: Timer | None = None
        self._asked = 0
        environment.serve(RingJoin, self._on_join)

    @property
    def under_way(self) -> bool:
        """Whether this peer has asked and waits."""
        return self._pending is not None

    def at(self, identifier: int, contact: int, failed: Callable[[], None]) -> None:
        """Ask for the place at `identifier`, beginning at `contact`; `failed` if no answer comes."""
        self._begin(contact, RingJoin(identifier, False), failed)

    def behind(self, contact: int, failed: Callable[[], None]) -> None:
        """Ask for the middle between `contact` and its successor; `failed` if no answer comes."""
        self._begin(contact, RingJoin(0, True), failed)

    def cancel(self) -> None:
        """Forget what was asked."""
        if self._pending is not None:
            self._pending.cancel()
            self._pending = None

    def _begin(self, contact: int, join: RingJoin, failed: Callable[[], None]) -> None:
        self.cancel()
        self._failed = failed
        self._asked = 0
        self._ask(contact, join)

    def _ask(self, contact: int, join: RingJoin) -> None:
        self._asked += 1
        self._pending = self._environment.request(
            contact, join, self._timeout, lambda reply: self._replied(join, reply), self._give_up
        )

    def _replied(self, join: RingJoin, reply: Message) -> None:
        assert isinstance(reply, RingPlace)
        self._pending = None
        if reply.closer is not None and self._asked < _MOST_ASKED:
            self._ask(reply.closer.peer, join)
        elif reply.own is not None:
            self._taken(reply)
        else:
            self._give_up()

    def _give_up(self) -> None:
        self._pending = None
        self._failed()

    def _on_join(self, sender: int, join: RingJoin) -> RingPlace:
        if not self._ready():
            return RingPlace()
        ring = self._ring
        ring.drop(sender)
        gap = ring.gap()
        offset = gap // 2 if join.between else ring.offset(join.identifier)
        if not join.between and offset == 0:
            offset = gap // 2
        if offset >= gap or offset == 0:
            return RingPlace(closer=self._closer(join, offset))
        identifier = (ring.own + offset) & ring.mask
        place = RingPlace(
            identifier=identifier,
            own=Contact(self._environment.peer, ring.own),
            successors=self._onward(),
            levels=self._levels(),
        )
        ring.learn([Contact(sender, identifier)])
        if ring.predecessor is None:
            ring.precede(Contact(sender, identifier))
        self._changed()
        return place

    def _closer(self, join: RingJoin, offset: int) -> Contact:
        """The successor where a gap is used up; else the last known peer before the identifier."""
        if offset == 0:
            return self._ring.successors[0]
        return self._routes.last_before((join.identifier - 1) & self._ring.mask) or self._ring.successors[0]

    def _onward(self) -> list[Contact]:
        """The newcomer's successors: this peer's, and itself at the end of a small ring."""
        return [*self._ring.successors, Contact(self._environment.peer, self._ring.own)]


def _nothing() -> None:
    """Nobody waits."""
