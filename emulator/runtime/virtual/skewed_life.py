"""A peer on the virtual clock that has a clock of its own, which a fault makes wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random

from emulator.contract.protocol import Timer
from emulator.faults.own_clocks import OwnClock
from emulator.runtime.virtual.life import LifeHost, VirtualLife, VirtualTimer


class SkewedLife(VirtualLife):
    """A life whose `now` and timers go by its own clock. What is recorded of it has the world's times."""

    def __init__(
        self, world: LifeHost, clock: OwnClock, peer: int, session: int, rng: Random, role: str
    ) -> None:
        super().__init__(world, peer, session, rng, role)
        self._clock = clock

    def now(self) -> float:
        return self._clock.shown(self.world.time)

    def set_timer(self, delay: float, callback: Callable[[], None]) -> VirtualTimer:
        timer = VirtualTimer(callback, self.world.context, self)
        if delay != math.inf:
            self.start(timer, delay)
        return timer

    def every(self, period: float, callback: Callable[[], None]) -> Timer:
        return _Periodic(self, period, callback)

    def find_contacts(self, callback: Callable[[Sequence[int]], None]) -> None:
        super().set_timer(self.world.answer_delay(), lambda: callback(self.world.contacts(self.peer)))

    def start(self, timer: VirtualTimer, delay: float) -> None:
        """Make the timer's call when `delay` seconds have passed on the peer's clock."""
        now = self.world.time
        self.world.schedule(self._clock.due(now, delay) - now, timer)


class _Periodic(Timer):
    """A periodic timer, of which each call is due a period of the peer's clock after the one before."""

    __slots__ = ("_callback", "_life", "_period", "_timer")

    def __init__(self, life: SkewedLife, period: float, callback: Callable[[], None]) -> None:
        self._life = life
        self._period = period
        self._callback: Callable[[], None] | None = callback
        self._timer = self._started(life.random.random() * period)

    def cancel(self) -> None:
        self._callback = None
        self._timer.cancel()

    def hasten(self) -> None:
        if self._callback is not None:
            self._life.world.schedule(0.0, VirtualTimer(self._call, None, self._life))

    def _started(self, delay: float) -> VirtualTimer:
        timer = VirtualTimer(self._fire, None, self._life)
        self._life.start(timer, delay)
        return timer

    def _call(self) -> None:
        if self._callback is not None:
            self._callback()

    def _fire(self) -> None:
        self._call()
        if self._callback is not None and self._life.alive:
            self._timer = self._started(self._period)
