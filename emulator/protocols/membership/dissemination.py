"""Updates that ride on messages (SWIM, section 4.1)."""

from __future__ import annotations

import math
from typing import Final

from trellis.v1.swim import MemberUpdate

_NONE: Final[list[MemberUpdate]] = []


class Dissemination:
    """The updates that one member passes on, each a number of times.

    The updates that were sent least often go first, and of these the latest. A new update about a member
    takes the place of the earlier one.
    """

    def __init__(self, multiple: int, most: int) -> None:
        """Send an update `multiple` times the logarithm of the group, at most `most` on a message."""
        self._multiple = multiple
        self._most = most
        self._tiers: list[dict[int, MemberUpdate]] = [{}]
        """The updates by how often they were sent, each by its member."""
        self._tier_of: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._tier_of)

    def repeats(self, size: int) -> int:
        """Return how often an update is sent in a group of `size` members: lambda times log n, rounded up."""
        return self._multiple * max(1, math.ceil(math.log10(size + 1)))

    def put(self, update: MemberUpdate) -> None:
        """Pass this update on from now on."""
        member = update.member
        if member in self._tier_of:
            del self._tiers[self._tier_of[member]][member]
        self._tiers[0][member] = update
        self._tier_of[member] = 0

    def take(self, size: int, first: MemberUpdate | None = None) -> list[MemberUpdate]:
        """Return the updates that ride on the next message of a group of `size` members; `first` goes in
        addition to them."""
        if not self._tier_of:
            return _NONE if first is None else [first]
        taken: list[MemberUpdate] = []
        chosen: list[int] = []
        for tier in range(len(self._tiers)):
            for member in reversed(self._tiers[tier]):
                if len(chosen) >= self._most:
                    break
                chosen.append(member)
        limit = self.repeats(size)
        for member in chosen:
            tier = self._tier_of[member]
            update = self._tiers[tier].pop(member)
            taken.append(update)
            if tier + 1 >= limit:
                del self._tier_of[member]
                continue
            if tier + 1 == len(self._tiers):
                self._tiers.append({})
            self._tiers[tier + 1][member] = update
            self._tier_of[member] = tier + 1
        return taken if first is None else [first, *taken]
