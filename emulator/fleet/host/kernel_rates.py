"""The rates of a host's links where the kernel limits them: what it is told, and what its links carry."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from emulator.experiment.file.spec import TrialSpec
from emulator.network.access_links import NANOSECONDS, LinkRates
from emulator.network.link_use import LinkUse
from emulator.runtime.realtime.agenda import Agenda
from emulator.runtime.realtime.clock import TrialClock

if TYPE_CHECKING:
    from emulator.network.netem.links import LinkCounts, LinkLimit

KERNEL: Final = "kernel"
DELAY_LINE: Final = "delay line"
"""The means that limit rates, as hosts name them."""
_LEAST_RATE: Final = 8_000
"""The least rate in bit/s that the kernel is given; below it a packet takes more than 1.5 s."""
_PERIOD: Final = 0.020
"""The wall seconds between two looks at the counters of links."""
_SURE: Final = 1.5
"""A link was busy between two looks if at the first one it had this many times as much to send."""
_COUNTER: Final = 0xFFFFFFFF
"""The largest value of the kernel's counters of packets."""
_MOST_ROOM: Final = 0xFFFFFFFF
"""The most bytes that a queue of the kernel can hold."""


def why_not(spec: TrialSpec, scale: float) -> str:
    """Return why the kernel cannot limit the rates that a trial asks for, or "". A trial second takes `scale`
    of wall time."""
    bandwidth = spec.network.bandwidth
    assert bandwidth is not None
    if spec.network.overhead:
        return "network.overhead is counted for each message, and the kernel has packets"
    if any(fault.links is not None and fault.links.bandwidth is not None for fault in spec.faults):
        return "faults change the rates of links"
    classes = bandwidth.all_classes()
    rates = [rate for each in classes for rate in (each.up, each.down) if rate]
    if any(rate < _LEAST_RATE * scale for rate in rates):
        return "a link has less than 8 kbit/s of wall time"
    limits = [limit for each in classes for limit in limits_of(each, scale) if limit is not None]
    if any(limit.room > _MOST_ROOM for limit in limits):
        return "the queue of a link holds more than 4 GiB"
    return ""


def limits_of(rates: LinkRates, scale: float) -> list[LinkLimit | None]:
    """Return the limits of the up and the down link, in wall time; a trial second takes `scale` of its."""
    from emulator.network.netem.links import LinkLimit

    return [
        LinkLimit(round(rate / 8 / scale), rate * rates.queue_ns // (8 * NANOSECONDS)) if rate else None
        for rate in (rates.up, rates.down)
    ]


class KernelRates:
    """Counts what the kernel's up and down link carry in the measure phase, and measures their rates."""

    def __init__(
        self,
        counts: Callable[[], list[LinkCounts | None]],
        limits: Sequence[LinkLimit | None],
        link_class: int,
        classes: int,
    ) -> None:
        """`counts` reads the counters, `link_class` is the class of the host's peer of so many `classes`."""
        self._counts = counts
        self._limits = limits
        self._own = 2 * link_class
        self._last: list[LinkCounts | None] = []
        self._at = 0.0
        self._scale = 1.0
        self.use = [LinkUse() for _ in range(2 * classes)]
        """The use of the up links of each class, followed by that of its down links."""

    def follow(self, agenda: Agenda, clock: TrialClock, spec: TrialSpec) -> None:
        """Put the looks at the counters in the measure phase on the agenda."""
        self._scale = clock.scale
        agenda.add(spec.phases.measure_start, self._look_again, agenda, clock, spec.phases.measure_end)
        for begin, _ in spec.intervals()[1:]:
            agenda.add(begin, self._begin_interval)

    def look(self, at: float) -> None:
        """Count what links have carried since the last look; it is `at` (monotonic, wall seconds)."""
        counts, elapsed = self._counts(), at - self._at
        for way, (before, now) in enumerate(zip(self._last, counts, strict=False)):
            limit = self._limits[way]
            if before is None or now is None or limit is None:
                continue
            use, carried = self.use[self._own + way], now.bytes - before.bytes
            use.bytes += carried
            use.packets += (now.packets - before.packets) & _COUNTER
            use.drops += (now.drops - before.drops) & _COUNTER
            if before.waiting >= _SURE * limit.rate * elapsed:
                use.busy_bits += 8 * carried
                use.busy_s += elapsed / self._scale
        self._last, self._at = counts, at

    def _begin_interval(self) -> None:
        self.look(time.monotonic())
        for use in self.use:
            use.begin_interval()

    def _look_again(self, agenda: Agenda, clock: TrialClock, end: float) -> None:
        """Look at the counters now, and again until the trial time `end`."""
        self.look(time.monotonic())
        now = clock.now()
        if now < end:
            agenda.add(min(now + _PERIOD / clock.scale, end), self._look_again, agenda, clock, end)
