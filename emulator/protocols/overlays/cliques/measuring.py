"""Round-trip times that a server has measured, each from a request to its reply."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from emulator.contract.protocol import Environment, Message
from trellis.v1.cliques import CliquePing, CliquePong

_GAIN: Final = 0.125
"""The weight of a new measurement against earlier ones (RFC 6298)."""
_MOST: Final = 4096


class Measuring:
    """The measured RTTs by peer, in seconds."""

    def __init__(self, environment: Environment, patience: float) -> None:
        self._environment = environment
        self._patience = patience
        self.rtts: dict[int, float] = {}

    def ping(self, peer: int, answered: Callable[[CliquePong], None], failed: Callable[[], None]) -> None:
        """Measure the RTT to a peer once."""
        sent = self._environment.now

        def replied(reply: Message) -> None:
            if not isinstance(reply, CliquePong):
                self._environment.drop(type(reply), "it answers something else")
                failed()
                return
            self.note(peer, self._environment.now - sent)
            answered(reply)

        self._environment.request(peer, CliquePing(), self._patience, replied, failed)

    def note(self, peer: int, rtt: float) -> None:
        """Add a measurement, in seconds."""
        known = self.rtts.get(peer)
        if known is None and len(self.rtts) >= _MOST:
            self.rtts.clear()
        self.rtts[peer] = rtt if known is None else known + _GAIN * (rtt - known)

    def ping_all(self, peers: Iterable[int], done: Callable[[dict[int, float]], None]) -> None:
        """Measure the peers that are not known yet, then call `done` with all known RTTs (s)."""
        asked = list(dict.fromkeys(peers))
        waiting = set(asked)

        def finish(peer: int, _: CliquePong | None = None) -> None:
            waiting.discard(peer)
            if not waiting:
                done({peer: self.rtts[peer] for peer in asked if peer in self.rtts})

        for peer in asked:
            if peer in self.rtts or peer == self._environment.peer:
                waiting.discard(peer)
        if not waiting:
            done({peer: self.rtts[peer] for peer in asked if peer in self.rtts})
        for peer in list(waiting):
            self.ping(peer, partial(finish, peer), partial(finish, peer))

    def forget(self, peer: int) -> None:
        """Forget a peer that is gone."""
        self.rtts.pop(peer, None)
