"""Round trips that a peer measures itself, by pings and by the acknowledgements of hops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from emulator.contract.protocol import Environment, Message
from emulator.protocols.overlays.pastry.parameters import PastryParameters
from trellis.v1.pastry import Ping

_MEAN_GAIN: Final = 1 / 8
_DEVIATION_GAIN: Final = 1 / 4


def round_trip(sent: float, now: float) -> float:
    """Return the round trip (s) of what was sent and answered at these times, in whole microseconds.

    Others are told round trips in microseconds. With the rest, two peers that are equally far away would seem
    to differ by what a difference of two times loses, and a peer that is told would seem nearer or farther.
    """
    return round(now - sent, 6)


class _Estimate:
    """The round trip to one peer: its mean and mean deviation (s)."""

    __slots__ = ("deviation", "mean")

    def __init__(self, mean: float, deviation: float) -> None:
        self.mean = mean
        self.deviation = deviation


class RoundTrips:
    """Estimates as TCP's (Jacobson 1988), for the peers that were measured last."""

    __slots__ = ("_bound", "_estimates", "_first", "_margin")

    def __init__(self, parameters: PastryParameters) -> None:
        self._estimates: dict[int, _Estimate] = {}
        """The estimates by peer; the peer that was measured last comes last."""
        self._bound = parameters.round_trips
        self._first = parameters.first_timeout
        self._margin = parameters.timeout_margin

    def sample(self, peer: int, seconds: float) -> None:
        """Add a measured round trip to the peer (s)."""
        estimate = self._estimates.pop(peer, None)
        if estimate is None:
            self._estimates[peer] = _Estimate(seconds, seconds / 2)
            if len(self._estimates) > self._bound:
                del self._estimates[next(iter(self._estimates))]
            return
        error = seconds - estimate.mean
        estimate.mean += _MEAN_GAIN * error
        estimate.deviation += _DEVIATION_GAIN * (abs(error) - estimate.deviation)
        self._estimates[peer] = estimate

    def mean(self, peer: int) -> float:
        """Return the mean round trip (s), infinite if it was never measured."""
        estimate = self._estimates.get(peer)
        return math.inf if estimate is None else estimate.mean

    def timeout(self, peer: int) -> float:
        """Return the seconds after which a hop's acknowledgement is overdue (DSN 2004, reliable routing)."""
        estimate = self._estimates.get(peer)
        if estimate is None:
            return self._first
        return estimate.mean + max(self._margin, 4 * estimate.deviation)


class Pings:
    """Pings that measure the round trip to a peer. No peer is declared dead because it does not answer."""

    def __init__(
        self,
        environment: Environment,
        parameters: PastryParameters,
        answered: Callable[[int, Message, float], None],
    ) -> None:
        """`answered(peer, pong, seconds)` is called for each answer with the round trip."""
        self._environment = environment
        self._timeout = parameters.probe_timeout
        self._answered = answered
        self._sent: dict[int, float] = {}

    def send(self, peer: int, attempts: int = 0) -> None:
        """Ping the peer, unless an answer may still come.

        `attempts` is the number of attempts to join so far.
        """
        if peer in self._sent:
            return
        self._sent[peer] = self._environment.now
        self._environment.request(
            peer,
            Ping(attempts=attempts),
            self._timeout,
            lambda pong: self._answered(peer, pong, round_trip(self._sent.pop(peer), self._environment.now)),
            lambda: self._give_up(peer),
        )

    def _give_up(self, peer: int) -> None:
        """Forget an unanswered ping, so that the peer may be pinged again."""
        del self._sent[peer]
