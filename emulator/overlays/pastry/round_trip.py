"""Round trips that a peer measures itself: by pings, and by the acknowledgements of hops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from emulator.overlays.pastry.parameters import PastryParameters
from emulator.protocol import Environment, Message
from trellis.v1.pastry import Ping

_MEAN_GAIN: Final = 1 / 8
_DEVIATION_GAIN: Final = 1 / 4


class RoundTrips:
    """Estimates as TCP's (Jacobson 1988), for the peers that were measured last."""

    __slots__ = ("_bound", "_estimates", "_first", "_margin")

    def __init__(self, parameters: PastryParameters) -> None:
        self._estimates: dict[int, tuple[float, float]] = {}
        self._bound = parameters.round_trips
        self._first = parameters.first_timeout
        self._margin = parameters.timeout_margin

    def sample(self, peer: int, seconds: float) -> None:
        """A round trip to the peer took so long."""
        estimate = self._estimates.pop(peer, None)
        if estimate is None:
            self._estimates[peer] = (seconds, seconds / 2)
            if len(self._estimates) > self._bound:
                del self._estimates[next(iter(self._estimates))]
            return
        mean, deviation = estimate
        error = seconds - mean
        self._estimates[peer] = (
            mean + _MEAN_GAIN * error,
            deviation + _DEVIATION_GAIN * (abs(error) - deviation),
        )

    def mean(self, peer: int) -> float:
        """The mean round trip (s), infinite if it was never measured."""
        estimate = self._estimates.get(peer)
        return math.inf if estimate is None else estimate[0]

    def timeout(self, peer: int) -> float:
        """Seconds after which a hop's acknowledgement is overdue (DSN 2004, reliable routing)."""
        estimate = self._estimates.get(peer)
        if estimate is None:
            return self._first
        mean, deviation = estimate
        return mean + max(self._margin, 4 * deviation)


class Pings:
    """Pings that measure how far a peer is. Silence means nothing: nobody is declared dead for it."""

    def __init__(
        self,
        environment: Environment,
        parameters: PastryParameters,
        answered: Callable[[int, Message, float], None],
    ) -> None:
        """`answered(peer, pong, seconds)` is told each answer with the round trip."""
        self._environment = environment
        self._timeout = parameters.probe_timeout
        self._answered = answered
        self._sent: dict[int, float] = {}

    def send(self, peer: int, attempts: int = 0) -> None:
        """Ping the peer, unless an answer may still come. `attempts` counts those of joining."""
        if peer in self._sent:
            return
        self._sent[peer] = self._environment.now
        self._environment.request(
            peer,
            Ping(attempts=attempts),
            self._timeout,
            lambda pong: self._answered(peer, pong, self._environment.now - self._sent.pop(peer)),
            lambda: self._give_up(peer),
        )

    def _give_up(self, peer: int) -> None:
        """The peer was silent; it may be pinged again."""
        del self._sent[peer]
