"""A count of what links carried, and of how long messages waited at them."""

from __future__ import annotations

from typing import Final

from emulator.compact.durations import Distribution

_SECONDS: Final = 1e-9


class LinkUse:
    """The use of the links of one class of peers in one direction, while it is counted."""

    __slots__ = ("busy_bits", "busy_s", "bytes", "drops", "packets", "past", "waited_ns", "waits")

    def __init__(self) -> None:
        self.past: list[LinkUse] = []
        """The use in each interval that is over. All else is of the interval that has begun since then, which
        is the whole time if nobody divides it."""
        self.bytes = 0
        """The bytes of the messages that were not dropped, with what each has in addition on a link."""
        self.packets = 0
        """The packets that the kernel's links carried; `bytes` and `drops` are those of packets then."""
        self.drops = 0
        """The messages that did not fit."""
        self.waited_ns = 0
        """The sum of all waits in ns."""
        self.waits = Distribution()
        """By how much each message was later at the link's end than it would have been alone on the link."""
        self.busy_bits = 0.0
        """The bits that left while the rate of the links was measured, and the seconds that they took."""
        self.busy_s = 0.0

    def add(self, size: int, wait_ns: int) -> None:
        """Count a message of so many bytes that waited for others."""
        self.bytes += size
        self.waited_ns += wait_ns
        self.waits.add(wait_ns * _SECONDS)

    def begin_interval(self) -> None:
        """End an interval, and count what comes in the next one."""
        over = LinkUse()
        over._add(self)
        self.past.append(over)
        self.bytes = self.packets = self.drops = self.waited_ns = 0
        self.waits = Distribution()
        self.busy_bits = self.busy_s = 0.0

    def intervals(self) -> list[LinkUse]:
        """Return the use in each interval."""
        return [*self.past, self]

    def whole(self) -> LinkUse:
        """Return the use in all intervals together."""
        found = LinkUse()
        for each in self.intervals():
            found._add(each)
        return found

    def merge(self, other: LinkUse) -> None:
        """Add the use of links at another host, interval by interval. A host that was lost has fewer."""
        while len(self.past) < len(other.past):
            self.begin_interval()
        for mine, theirs in zip(self.intervals(), other.intervals(), strict=False):
            mine._add(theirs)

    def _add(self, other: LinkUse) -> None:
        self.bytes += other.bytes
        self.packets += other.packets
        self.drops += other.drops
        self.waited_ns += other.waited_ns
        self.waits.merge(other.waits)
        self.busy_bits += other.busy_bits
        self.busy_s += other.busy_s
