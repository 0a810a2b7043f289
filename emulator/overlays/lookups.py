"""Lookups as an application of any structured overlay: which peer is the closest to a key?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from google.protobuf.message import Message
from trellis.v1.overlay_pb2 import LookupRequest

from emulator.protocol import Contact, Environment, Handler, Lookup, LookupService, Overlay


class Lookups(LookupService):
    """One peer: the overlay alone, with a request routed through it for each lookup."""

    def __init__(self, environment: Environment, create: Callable[[Environment], Overlay]) -> None:
        """`create` makes this peer's part of the overlay."""
        self._environment = environment
        self._overlay = create(environment)
        self._overlay.application = self

    def lookup(self, number: int, key: int) -> None:
        self._overlay.route(key, LookupRequest(number=number))

    def forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        """Every request goes on."""
        return True

    def deliver(self, key: int, message: Message, origin: int, hops: int) -> None:
        assert isinstance(message, LookupRequest)
        self._environment.deliver(Lookup(message.number, origin, key, hops))

    def update(self, peer: int, joined: bool) -> None:
        """A lookup needs no neighbours of its own."""

    def handlers(self) -> dict[type[Message], Handler]:
        return self._overlay.handlers()

    def start(self, bootstrap: Sequence[Contact]) -> None:
        self._overlay.start(bootstrap)

    def stop(self, graceful: bool) -> None:
        self._overlay.stop(graceful)

    def on_unreachable(self, peer: int) -> None:
        self._overlay.on_unreachable(peer)

    def gauges(self) -> dict[str, float]:
        return self._overlay.gauges()

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return self._overlay.neighbours()
