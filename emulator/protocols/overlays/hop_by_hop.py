"""Routing without acknowledgements: each peer sends a message on to its next hop, until there is none."""

from __future__ import annotations

from typing import Final

from emulator.contract.protocol import Environment, Overlay
from emulator.messages.message import Message
from trellis.v1.overlay import Contact, Routed

MOST_HOPS: Final = 1000
"""A message that has gone this many hops runs in a circle, because routes are being mended."""


class HopByHop:
    """The part of one peer in routing without acknowledgements."""

    def __init__(self, environment: Environment, overlay: Overlay) -> None:
        """`overlay` knows the next hop and the applications."""
        self._environment = environment
        self._overlay = overlay
        environment.handle(Routed, self._on_routed)

    def route(self, key: int, message: Message) -> None:
        """Send this peer's own message towards the key."""
        own = Contact(self._environment.peer, self._overlay.identifier)
        self.pass_on(Routed(key, own, 0, message))

    def pass_on(self, routed: Routed) -> None:
        """Deliver the message if there is no next hop, otherwise send it on if the application agrees."""
        key, message, origin, hops = routed.key, routed.message, routed.origin, routed.hops
        if message is None or origin is None or hops >= MOST_HOPS:
            self._environment.drop(Routed, "it lacks a part" if hops < MOST_HOPS else "it went too many hops")
            return
        application = self._overlay.application_of(message)
        hop = self._overlay.next_hop(key)
        if hop is None:
            application.deliver(key, message, origin, hops)
        elif application.forward(key, message, hop.peer, hops):
            self._environment.send(hop.peer, Routed(key, origin, hops + 1, message))

    def _on_routed(self, sender: int, routed: Routed) -> None:
        self.pass_on(routed)
