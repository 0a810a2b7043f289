"""A peer's place in the tree of one topic."""

from __future__ import annotations

from emulator.protocols.pubsub.shared.home_publishing import NOBODY


class Branch:
    """The parent and children of one peer in one topic's tree, and the peer's interval of the ring.

    The interval reaches from this peer to `end`: the greedy paths from the home over this peer lead exactly
    there.
    """

    __slots__ = ("children", "end", "home", "is_home", "parent")

    def __init__(self) -> None:
        self.parent = NOBODY
        self.home = NOBODY
        """The peer at which the tree begins, as far as this peer knows."""
        self.is_home = False
        self.end = 0
        self.children: dict[int, int] = {}
        """The end of the interval that each child was told, by child."""

    @property
    def attached(self) -> bool:
        """Whether this peer has a parent or, as the home, needs none."""
        return self.is_home or self.parent != NOBODY
