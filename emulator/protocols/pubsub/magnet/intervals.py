"""The intervals of the ring to which a tree's greedy paths over its peers lead.

The Magnet paper has no intervals. With them, trees are exactly the union of greedy paths: see
docs/systems/magnet.md.
"""

from __future__ import annotations

from emulator.contract.protocol import Contact
from emulator.protocols.overlays.oscar.overlay import Oscar
from emulator.protocols.pubsub.magnet.branch import Branch


class Intervals:
    """The intervals of one peer's branches. A peer's interval begins at its own place."""

    def __init__(self, ring: Oscar) -> None:
        self._ring = ring

    def holds(self, branch: Branch, identifier: int) -> bool:
        """Return whether the greedy path from the home to this place leads over this peer."""
        return 0 < self._offset(identifier) < self._reach(branch)

    def end_for(self, branch: Branch, child: Contact) -> int | None:
        """Return the end of the interval of this child; None if no greedy path of the tree leads over it."""
        end = self._ring.end_of(child)
        if end is None:
            return None
        reach = self._reach(branch)
        if self._offset(child.identifier) >= reach:
            return None
        offset = self._offset(end)
        if offset > reach or (offset == 0 and not branch.is_home):
            return branch.end
        return end

    def _reach(self, branch: Branch) -> int:
        """Return the length of this peer's interval, which is the whole ring at the home."""
        return self._ring.space.size if branch.is_home else self._offset(branch.end)

    def _offset(self, identifier: int) -> int:
        return (identifier - self._ring.identifier) & self._ring.space.mask
