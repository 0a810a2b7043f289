"""Lookups as an application of any structured overlay: which peer is the closest to a key?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from emulator.contract.protocol import Application, Environment, Lookup, LookupService, Overlay
from emulator.contract.system import OverlayKind, System
from emulator.messages.message import Message
from trellis.v1.overlay import Contact, LookupRequest


class Lookups(LookupService):
    """One peer that has only the overlay, through which it routes a request for each lookup."""

    def __init__(self, environment: Environment, overlay: Overlay) -> None:
        """`overlay` is this peer's part of it, on a channel below `environment`."""
        super().__init__(environment)
        self._overlay = overlay
        overlay.carry(self, LookupRequest)

    def start(self, contacts: Sequence[int]) -> None:
        self._overlay.start(contacts)

    def stop(self, graceful: bool) -> None:
        self._overlay.stop(graceful)

    def lookup(self, number: int, key: int) -> None:
        self._overlay.route(key, LookupRequest(number))

    def forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        """Let every request go on."""
        return True

    def deliver(self, key: int, message: Message, origin: Contact, hops: int) -> None:
        assert isinstance(message, LookupRequest)
        self.environment.deliver(Lookup(message.number, origin.peer, key, hops))

    def neighbour_changed(self, contact: Contact, joined: bool) -> None:
        """Do nothing: a lookup needs no neighbours of its own."""


def lookups(kind: OverlayKind) -> System:
    """Return the system that looks up keys in an overlay of this kind."""

    def create(environment: Environment, parameters: Any) -> Application:
        return Lookups(environment, kind.create(environment.channel("overlay"), parameters))

    return System(
        kind.name,
        kind.title,
        kind.paper,
        kind.parameters,
        create,
        serves="lookups",
        takes_identifiers=True,
        invariants=kind.invariants,
    )
