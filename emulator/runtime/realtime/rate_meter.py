"""The rates of a host's links, by the times at which the host really went on with what had gone through them.

A link that is busy sends one message directly behind the other, so the bits that left it between two messages
of a busy period, over the time between them, are its rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from emulator.network.link_use import LinkUse

_LEAST_S: Final = 0.25
"""The least time between two messages of a busy period that is measured, because the agenda is late by some
milliseconds."""


class Departure(NamedTuple):
    """A message that leaves a link."""

    link: int
    """The number of the link: twice the peer's for its up link, and one more for its down link."""
    period: int
    """The number of the link's busy period."""
    bits: int
    """All bits that have gone through the link with this message."""
    at: float
    """The trial time (s) at which it is to leave."""


class _Link:
    """One link: what has entered it, and how far it was measured."""

    __slots__ = ("at", "bits", "entered", "free", "measured", "period", "piece", "since")

    def __init__(self) -> None:
        self.period = 1
        """The number of the last busy period; so are the bits that have entered and the time it is free."""
        self.entered = 0
        self.free = 0.0
        self.measured = 0
        """The number of the busy period that is being measured, which of the link's rates held then, and when
        the first message left at this rate."""
        self.piece = 0
        self.since = 0.0
        self.bits = 0.0
        """The bits that had left, and when, up to which the period is measured."""
        self.at = 0.0


class RateMeter:
    """Measures the rates of the links of a host's peers."""

    def __init__(self, link_classes: Sequence[int], use: Sequence[LinkUse]) -> None:
        """`link_classes` has the index of each peer's class of links, and `use`, which gets what is measured,
        the use of the up links of each class, followed by that of its down links."""
        self._classes = link_classes
        self._use = use
        self._links: dict[int, _Link] = {}

    def enter(self, link: int, at: float, leaves: float, bits: int) -> Departure:
        """Return the departure of a message that enters a link at `at` (s) and is to leave it at `leaves`, on
        a link that sends one message after the other."""
        here = self._link(link)
        here.period += at >= here.free
        here.entered += bits
        here.free = leaves
        return Departure(link, here.period, here.entered, leaves)

    def share(self, link: int, bits: int, left: float) -> None:
        """Take note of a message that enters a link which messages share, and on which so many bits are left
        of the messages before it."""
        here = self._link(link)
        here.period += not left
        here.entered += bits

    def leave(self, departure: Departure, late: float) -> None:
        """Take note of a message that left a link, late by so many seconds."""
        link = departure.link
        use = self._use[2 * self._classes[link >> 1] + (link & 1)]
        self._measure(self._links[link], departure.period, departure.bits, departure.at + late, 0, use)

    def work(self, link: int, left: float, at: float, piece: int, use: LinkUse) -> None:
        """Take note that so many bits are left on a link which messages share, when one of them has departed
        at `at` (s). `piece` says which of the link's rates holds; the measured one counts in `use`."""
        here = self._link(link)
        self._measure(here, here.period, here.entered - left, at, piece, use)

    def _link(self, link: int) -> _Link:
        found = self._links.get(link)
        if found is None:
            found = self._links[link] = _Link()
        return found

    def _measure(self, here: _Link, period: int, bits: float, at: float, piece: int, use: LinkUse) -> None:
        """Measure a busy period up to a message that left at `at`, and up to which so many bits left. One
        that is overtaken by a later one adds nothing. Another rate is measured from its first message on."""
        if period > here.measured or piece != here.piece:
            here.measured, here.piece, here.since = period, piece, at
            here.bits, here.at = bits, at
        elif period == here.measured and bits > here.bits and at - here.since >= _LEAST_S:
            use.busy_bits += bits - here.bits
            use.busy_s += at - here.at
            here.bits, here.at = bits, at
