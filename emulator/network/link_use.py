"""A count of what links carried, and of how long messages waited at them."""

from __future__ import annotations

from typing import Final

from emulator.compact.durations import Distribution

_SECONDS: Final = 1e-9


class LinkUse:
    """The use of the links of one class of peers in one direction, while it is counted."""

    __slots__ = ("busy_bits", "busy_s", "bytes", "drops", "packets", "waited_ns", "waits")

    def __init__(self) -> None:
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
