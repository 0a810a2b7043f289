"""The link of two tree neighbours: what each knows of the other."""

from __future__ import annotations

from emulator.bit_sets import bits
from trellis.v1.scribe import TreeHeartbeat


class TreeLink:
    """This peer's side: one for each other peer, whatever the number of trees that they share."""

    __slots__ = ("_heartbeat", "_last", "above", "below", "heard", "identifier", "spoken", "unnamed")

    def __init__(self, now: float) -> None:
        self.below = 0
        """Topics in whose trees the other is this peer's child (a bit set): the children table, by child."""
        self.above = 0
        """Topics in whose trees the other is this peer's parent (a bit set)."""
        self.identifier = 0
        """The other's in the overlay, as it told; known of parents alone."""
        self.unnamed: dict[int, float] = {}
        """The times at which topics of `below` end that the child does not refresh (s of trial time)."""
        self.heard = now
        """The time at which the other was last heard from (s of trial time)."""
        self.spoken = False
        """Whether the other got an event since the last heartbeat that was due."""
        self._heartbeat: TreeHeartbeat | None = None
        self._last: TreeHeartbeat | None = None

    def change(self) -> None:
        """Note that `below` or `above` has changed: the next heartbeats are to be composed and read anew."""
        self._heartbeat = self._last = None

    def due(self, identifier: int) -> TreeHeartbeat | None:
        """Compose what this peer, with this identifier, tells the other now.

        The link answers None if an event has just said the same.
        """
        spoken, self.spoken = self.spoken, False
        told = identifier if self.below else 0
        if self._heartbeat is None or self._heartbeat.identifier != told:
            self._heartbeat = TreeHeartbeat(children=self.below, parents=self.above, identifier=told)
        elif spoken:
            return None
        return self._heartbeat

    def repeats(self, heartbeat: TreeHeartbeat) -> bool:
        """Whether the other says what it said before, and nothing has changed here since."""
        if heartbeat is self._last or heartbeat == self._last:
            return True
        self._last = heartbeat
        return False

    def refresh(self, named: int, ends: float) -> None:
        """Let topics of `below` that the child does not name end at `ends`, or earlier if so set before."""
        self.unnamed = {topic: self.unnamed.get(topic, ends) for topic in bits(self.below & ~named)}
