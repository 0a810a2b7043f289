"""Round trips that a peer measures itself: by pings, and by the acknowledgements of hops."""

from __future__ import annotations

import math
from collections.abc import Callable

from google.protobuf.message import Message
from trellis.v1.pastry_pb2 import Ping, Pong

from emulator.overlays.pastry.parameters import PastryParameters
from emulator.protocol import Environment, Handler

_MEAN_GAIN = 1 / 8
_DEVIATION_GAIN = 1 / 4


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
        """Seconds, infinite if it was never measured."""
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
    """Pings and their answers."""

    def __init__(
        self,
        environment: Environment,
        parameters: PastryParameters,
        *,
        answer: Callable[[int, Ping], Pong],
        answered: Callable[[int, bool, float], None],
    ) -> None:
        """`answered` is called with the peer, whether it is ready, and the round trip in seconds."""
        self._environment = environment
        # A little less, so that a repetition after exactly that time is not held back by its rounding.
        self._patience = 0.9 * parameters.probe_timeout
        self._bound = parameters.round_trips
        self._answer = answer
        self._answered = answered
        self._sent: dict[int, float] = {}

    def handlers(self) -> dict[type[Message], Handler]:
        return {Ping: self._on_ping, Pong: self._on_pong}

    def send(self, peer: int, attempts: int = 0) -> None:
        """Ping the peer, unless an answer may still come."""
        now = self._environment.now
        if now - self._sent.get(peer, -math.inf) < self._patience:
            return
        self._sent.pop(peer, None)
        self._sent[peer] = now
        if len(self._sent) > self._bound:
            del self._sent[next(iter(self._sent))]
        self._environment.send(peer, Ping(attempts=attempts))

    def _on_ping(self, sender: int, message: Ping) -> None:
        self._environment.send(sender, self._answer(sender, message))

    def _on_pong(self, sender: int, message: Pong) -> None:
        sent = self._sent.pop(sender, None)
        if sent is not None:
            self._answered(sender, message.ready, self._environment.now - sent)
