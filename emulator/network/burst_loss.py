"""Loss in bursts, by the model of Gilbert (1960) and Elliott (1963) in which all is lost in the bad state."""

from __future__ import annotations

import math
from random import Random
from typing import Final, Literal

from pydantic import Field

from emulator.compact.number_maps import ABSENT, NumberMap
from emulator.contract.random_streams import stream
from emulator.files.quantities import Share
from emulator.network.model import Loss, LossModel, Problems

_LENGTH_BITS: Final = 40
_LONGEST: Final = (1 << _LENGTH_BITS) - 1
"""The most messages of a run."""
_BAD: Final = 1 << _LENGTH_BITS
_RUN: Final = 1 << _LENGTH_BITS + 1
_RUNS: Final = (1 << 22) - 1
"""The runs of a pair that have draws of their own; later ones have those of the first again."""
_WORD: Final = (1 << 64) - 1
_MOST_PEERS: Final = 262_147


class Bursts(LossModel):
    """The model of messages that are lost in bursts: mean loss m, and mean burst L in messages.

    Each ordered pair of peers has a state. At each of its messages it leaves the bad state with probability
    1/L and enters it with m/(L(1-m)); its first message finds it in the stationary distribution.
    """

    kind: Literal["bursts"] = "bursts"
    mean: Share = Field(gt=0, lt=1, description="share of the messages that vanish")
    burst: float = Field(ge=1, le=1_000_000, description="messages in a row that vanish, on average")

    @property
    def enters(self) -> float:
        """The probability that a message finds the bad state after one that has found the good state."""
        return self.mean / (self.burst * (1 - self.mean))

    def problems(self) -> Problems:
        """Return a problem if bursts would have to begin more often than at each message."""
        if self.enters <= 1:
            return []
        least, most = self.mean / (1 - self.mean), self.burst / (1 + self.burst)
        text = (
            f"bursts of {self.burst:g} messages on average cannot lose {self.mean:g} of all: after each, one "
            f"message arrives at least. Make `burst` at least {math.ceil(1000 * least) / 1000:g}, or `mean` "
            f"at most {math.floor(1000 * most) / 1000:g}"
        )
        return [("burst", text)]

    def begin(self, seed: int) -> Loss:
        """Return the loss of a trial. What a pair loses depends on the seed, the pair and the number of its
        message alone."""
        return _Bursts(self, seed)


class _Bursts(Loss):
    """The loss of one trial. A pair that has sent something takes 32 to 64 bytes."""

    def __init__(self, model: Bursts, seed: int) -> None:
        self._mean = model.mean
        self._leaves, self._enters = 1 / model.burst, model.enters
        self._key = stream(seed, "network", "bursts of loss").getrandbits(64)
        self._runs = NumberMap()
        """The number of each pair's run, its state, and how many of its messages are still to come."""

    def hits(self, sender: int, receiver: int, random: Random) -> bool:
        pair = sender * _MOST_PEERS + receiver
        now = int(self._runs.get(pair))
        if now == ABSENT:
            bad = self._drawn(pair, 0) < self._mean
            now = self._next_run(pair, 0, bad)
        elif not now & _LONGEST:
            now = self._next_run(pair, now // _RUN, not now & _BAD)
        self._runs.put(pair, now - 1)
        return now & _BAD != 0

    def _next_run(self, pair: int, run: int, bad: bool) -> int:
        """Return the run after this one: messages that all find the same state."""
        run = run % _RUNS + 1
        ends = self._leaves if bad else self._enters
        length = 1
        if ends < 1:
            length += int(math.log1p(-self._drawn(pair, run)) / math.log1p(-ends))
        return run * _RUN + (_BAD if bad else 0) + min(length, _LONGEST)

    def _drawn(self, pair: int, run: int) -> float:
        """Return the number from 0 to 1 that is drawn for a run of a pair."""
        return (_mixed(_mixed(self._key + pair) + run) >> 11) / (1 << 53)


def _mixed(word: int) -> int:
    """Return 64 bits that look random (SplitMix64, Steele, Lea and Flood, 2014)."""
    word = word + 0x9E3779B97F4A7C15 & _WORD
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    word = (word ^ word >> 27) * 0x94D049BB133111EB & _WORD
    return word ^ word >> 31
