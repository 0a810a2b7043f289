"""Gets a peer its place on the ring, at an identifier or behind a peer that it names.

A peer that is asked either gives the place behind itself or names a peer that is closer, which the newcomer
asks next. A peer that gives a place takes the newcomer as its successor at once, so that no two newcomers get
the same place. Where no peer is on the ring any more, two peers that only find each other begin it anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from emulator.contract.protocol import Contact, Environment, Message, Timer
from emulator.protocols.overlays.oscar.member import RingMember
from emulator.protocols.overlays.oscar.parameters import RingParameters
from emulator.protocols.overlays.oscar.ring import RingNeighbours
from emulator.protocols.overlays.oscar.routes import ClockwiseRoutes
from trellis.v1.oscar import RingJoin, RingPlace

_MOST_ASKED: Final = 200
"""The most peers that are asked one after the other before the newcomer begins again."""
_LONELY: Final = 3
"""A newcomer may begin a ring after it has found this many peers in turn that are not on the ring either."""


class Joining:
    """The parts of the newcomer and of the peers that it asks."""

    def __init__(
        self,
        environment: Environment,
        parameters: RingParameters,
        ring: RingNeighbours,
        routes: ClockwiseRoutes,
        member: RingMember,
    ) -> None:
        self._environment = environment
        self._timeout = parameters.timeout
        self._ring = ring
        self._routes = routes
        self._member = member
        self._failed: Callable[[], None] = _nothing
        self._pending: Timer | None = None
        self._asked = 0
        self._answered: Callable[[RingPlace], None] = member.take_place
        self._wanted = 0
        """The identifier that was asked for last."""
        self._in_vain = 0
        environment.serve(RingJoin, self._on_join)

    @property
    def under_way(self) -> bool:
        """Whether this peer has asked and waits for the answer."""
        return self._pending is not None

    def at(self, identifier: int, contact: int, failed: Callable[[], None]) -> None:
        """Ask for the place at `identifier`, beginning at `contact`; call `failed` without an answer."""
        self._wanted = identifier
        self._begin(contact, RingJoin(identifier, False, self._in_vain), self._member.take_place, failed)

    def behind(self, contact: int, failed: Callable[[], None]) -> None:
        """Ask for the middle between `contact` and its successor; `failed` is called if no answer comes."""
        self._in_vain = 0
        self._begin(contact, RingJoin(0, True, 0), self._member.take_place, failed)

    def confirm(self, contact: int, confirmed: Callable[[RingPlace], None]) -> None:
        """Ask for this peer's own place, so that the peer before it takes it as its successor.

        `confirmed` gets the answer, unless another question is under way.
        """
        if self._pending is None:
            self._begin(contact, RingJoin(self._ring.own, False, 0), confirmed, _nothing)

    def cancel(self) -> None:
        """Forget the question that is under way."""
        if self._pending is not None:
            self._pending.cancel()
            self._pending = None

    def _begin(
        self,
        contact: int,
        join: RingJoin,
        answered: Callable[[RingPlace], None],
        failed: Callable[[], None],
    ) -> None:
        self.cancel()
        self._answered = answered
        self._failed = failed
        self._asked = 0
        self._ask(contact, join)

    def _ask(self, contact: int, join: RingJoin) -> None:
        self._asked += 1
        self._pending = self._environment.request(
            contact, join, self._timeout, lambda reply: self._replied(join, reply), self._give_up
        )

    def _replied(self, join: RingJoin, reply: Message) -> None:
        if not isinstance(reply, RingPlace):
            self._environment.drop(type(reply), "it answers something else")
            self._give_up()
            return
        self._pending = None
        if reply.closer is not None and self._asked < _MOST_ASKED:
            self._ask(reply.closer.peer, join)
        elif reply.own is not None:
            self._in_vain = 0
            self._answered(reply)
        else:
            self._in_vain += 1
            self._give_up()

    def _give_up(self) -> None:
        self._pending = None
        self._failed()

    def _on_join(self, sender: int, join: RingJoin) -> RingPlace:
        if self._member.own_contact() is None:
            if self._in_vain <= _LONELY or join.in_vain <= _LONELY or self._environment.peer > sender:
                return RingPlace()
            self.cancel()
            self._in_vain = 0
            self._member.begin_ring(self._wanted)
        ring = self._ring
        asked = Contact(sender, join.identifier)
        if not join.between and asked in ring.successors[:1]:
            return self._place(join.identifier, ring.successors[1:])
        if join.between or (asked not in ring.successors and asked != ring.predecessor):
            ring.drop(sender)
        gap = ring.gap()
        offset = gap // 2 if join.between else ring.offset(join.identifier)
        if not join.between and offset == 0:
            offset = gap // 2
        if offset >= gap or offset == 0:
            return RingPlace(closer=self._closer(join, offset))
        identifier = (ring.own + offset) & ring.mask
        place = self._place(identifier, ring.successors)
        ring.learn([Contact(sender, identifier)])
        if ring.predecessor is None:
            ring.precede(Contact(sender, identifier))
        self._member.ring_changed()
        return place

    def _closer(self, join: RingJoin, offset: int) -> Contact:
        """Return the successor where a gap is used up, else the last known peer before the identifier."""
        if offset == 0:
            return self._ring.successors[0]
        return self._routes.last_before((join.identifier - 1) & self._ring.mask) or self._ring.successors[0]

    def _place(self, identifier: int, onward: Sequence[Contact]) -> RingPlace:
        """Return the place between this peer and those onward, which in a small ring end with this peer."""
        own = Contact(self._environment.peer, self._ring.own)
        return RingPlace(
            identifier=identifier, own=own, successors=[*onward, own], levels=self._member.sampled_levels()
        )


def _nothing() -> None:
    """Do nothing, because no caller waits."""
