"""Rerouting: a message whose next hop turns out unreachable is sent another way."""

from __future__ import annotations

from typing import Final

from emulator.contract.protocol import Environment, Overlay
from emulator.protocols.overlays.hop_by_hop import HopByHop
from trellis.v1.overlay import Routed

_ARRIVED: Final = 5.0
"""The seconds after which a message has arrived; otherwise the network would have reported a failure."""


class Rerouting(HopByHop):
    """The part of one peer, which keeps for a while what it has sent."""

    def __init__(self, environment: Environment, overlay: Overlay) -> None:
        super().__init__(environment, overlay)
        self._on_the_way: dict[int, list[tuple[float, Routed]]] = {}
        """The messages that were sent lately by next hop, with the times of sending (s)."""

    def sent(self, peer: int, routed: Routed) -> None:
        """Keep what was sent to `peer`."""
        self._on_the_way.setdefault(peer, []).append((self._environment.now, routed))

    def avoid(self, peer: int) -> None:
        """Send another way what went to `peer` lately.

        The overlay was told before that the peer is unreachable.
        """
        for _, routed in self._on_the_way.pop(peer, []):
            self.pass_on(routed)

    def forget_old(self) -> None:
        """Drop the messages that have arrived."""
        oldest = self._environment.now - _ARRIVED
        for peer in list(self._on_the_way):
            kept = [(at, routed) for at, routed in self._on_the_way[peer] if at >= oldest]
            if kept:
                self._on_the_way[peer] = kept
            else:
                del self._on_the_way[peer]
