"""A change of links' rates while a trial runs."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from emulator.network.link_use import LinkUse

NEVER: Final = -1
"""This number stands for a time that does not come, such as a departure from a link that stalls for ever."""


class RateChange:
    """The rates of some peers' links from one time to another (ns), in bit/s; None changes nothing.

    `ends_ns` is `NEVER` for a change that lasts.
    """

    __slots__ = ("begins_ns", "down", "ends_ns", "fault", "peers", "up", "use")

    def __init__(
        self,
        begins_ns: int,
        ends_ns: int,
        peers: Collection[int],
        up: int | None,
        down: int | None,
        fault: str = "",
    ) -> None:
        """`fault` is the name of the fault that asks for it."""
        self.begins_ns = begins_ns
        self.ends_ns = ends_ns
        self.peers = frozenset(peers)
        self.up = up
        self.down = down
        self.fault = fault
        self.use = LinkUse(), LinkUse()
        """The use of the up links and of the down links that have its rates, as far as it was measured."""
