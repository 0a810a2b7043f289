"""The times at which the bootstrap service is away, and what becomes of those that ask it then."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from emulator.faults.spec import FaultSpec

ASKS_AGAIN: Final = 1.0
"""The seconds after which a peer that gets no answer asks the bootstrap service again."""


class Outages:
    """The outages of one trial. A peer that gets no answer asks again each second until it gets one."""

    def __init__(self, faults: Sequence[FaultSpec]) -> None:
        away = [(fault.begins, fault.ends) for fault in faults if fault.bootstrap is not None]
        self._away = sorted(away)

    def __bool__(self) -> bool:
        return bool(self._away)

    def wait(self, asked: float) -> float:
        """Return how many seconds after `asked` (trial time) the service answers who asks first then: 0 if it
        is there, infinity if it never comes back."""
        wait = 0.0
        for begins, ends in self._away:
            if begins <= asked + wait < ends:
                if ends == math.inf:
                    return math.inf
                times = math.ceil((ends - asked) / ASKS_AGAIN)
                while asked + times * ASKS_AGAIN < ends:  # the division was rounded
                    times += 1
                wait = times * ASKS_AGAIN
        return wait
