"""How rings that several peers began become one: while its place is in doubt, a peer has it confirmed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from emulator.contract.protocol import Environment
from emulator.protocols.overlays.oscar.joining import Joining
from emulator.protocols.overlays.oscar.member import RingMember
from emulator.protocols.overlays.oscar.ring import RingNeighbours
from emulator.protocols.overlays.oscar.wiring import Wiring
from trellis.v1.oscar import RingPlace

_LOOKS: Final = 5
"""Looks at the ring from one confirmation of the place to the next."""


class Confirming:
    """One peer's part: it asks a random peer who stands before it."""

    def __init__(
        self,
        environment: Environment,
        ring: RingNeighbours,
        joining: Joining,
        wiring: Wiring,
        member: RingMember,
    ) -> None:
        self._environment = environment
        self._ring = ring
        self._joining = joining
        self._wiring = wiring
        self._member = member
        self._doubts = 0
        """Looks at the ring since the place was confirmed."""

    def round(self) -> None:
        """Ask if it is time to, while nobody says to be before this peer, and until the second wiring."""
        if self._ring.predecessor is not None and self._wiring.count >= 2:
            self._doubts = 0
            return
        self._doubts += 1
        if self._doubts >= _LOOKS:
            self._doubts = 0
            self._environment.find_contacts(self._ask)

    def _ask(self, found: Sequence[int]) -> None:
        if found and self._member.own_contact() is not None:
            asked = found[self._environment.random.randrange(len(found))]
            self._joining.confirm(asked, self._confirmed)

    def _confirmed(self, place: RingPlace) -> None:
        """Know the neighbours that the answer names."""
        if (
            place.own is None
            or self._member.own_contact() is None
            or place.own.peer == self._environment.peer
        ):
            return
        self._ring.precede(place.own)
        self._ring.learn(place.successors)
        self._member.ring_changed()
