"""Confirms the place of a peer that is in doubt of it, so that rings that several peers began become one."""

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
"""The checks of the ring between two confirmations of the place."""


class Confirming:
    """The part of one peer, which asks a random peer which one stands before it."""

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
        """The number of checks of the ring since the place was confirmed."""

    def round(self) -> None:
        """Ask from time to time until the second wiring, or while this peer has no predecessor."""
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
        """Learn the neighbours that the answer names."""
        if (
            place.own is None
            or self._member.own_contact() is None
            or place.own.peer == self._environment.peer
        ):
            return
        self._ring.precede(place.own)
        self._ring.learn(place.successors)
        self._member.ring_changed()
