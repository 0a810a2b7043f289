"""A peer's place in the tree of one topic."""

from __future__ import annotations

from emulator.protocols.pubsub.shared.home_publishing import NOBODY


class Branch:
    """Parent, children and the interval of the ring that the greedy paths over this peer lead to.

    A path from the home leads over this peer to exactly those who stand from this peer on up to `end`.
    """

    __slots__ = ("children", "end", "home", "is_home", "parent")

    def __init__(self) -> None:
        self.parent = NOBODY
        self.home = NOBODY
        """The peer that the tree begins at, as far as it is known here."""
        self.is_home = False
        self.end = 0
        self.children: dict[int, int] = {}
        """The children, with the end of the interval that each was told."""

    @property
    def attached(self) -> bool:
        """Whether this peer has a parent or needs none."""
        return self.is_home or self.parent != NOBODY
