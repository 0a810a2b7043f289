"""Routing that goes another way where the next hop turns out unreachable."""

from __future__ import annotations

from typing import Final

from emulator.contract.protocol import Environment, Overlay
from emulator.protocols.overlays.hop_by_hop import HopByHop
from trellis.v1.overlay import Routed

_ARRIVED: Final = 5.0
"""Seconds after which what was sent has arrived: otherwise the network would have said so."""


class Rerouting(HopByHop):
    """One peer's part: it keeps what it has sent for a while."""

    def __init__(self, environment: Environment, overlay: Overlay) -> None:
        super().__init__(environment, overlay)
        self._on_the_way: dict[int, list[tuple[float, Routed]]] = {}
        """By next hop: what was sent over it lately, with the times (s)."""

    def sent(self, peer: int, routed: Routed) -> None:
        """Keep what was sent to `peer`."""
        self._on_the_way.setdefault(peer, []).append((self._environment.now, routed))

    def avoid(self, peer: int) -> None:
        """Send what went to `peer` lately another way; the overlay was told before that it is unreachable."""
        for _, routed in self._on_the_way.pop(peer, []):
            self.pass_on(routed)

    def forget_old(self) -> None:
        """Keep no longer what has arrived."""
        oldest = self._environment.now - _ARRIVED
        for peer in list(self._on_the_way):
            kept = [(at, routed) for at, routed in self._on_the_way[peer] if at >= oldest]
            if kept:
                self._on_the_way[peer] = kept
            else:
                del self._on_the_way[peer]
