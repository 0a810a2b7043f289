"""What two tree neighbours know of each other."""

from __future__ import annotations

from trellis.v1.scribe_pb2 import TreeHeartbeat


class TreeLink:
    """This peer's side: one for each other peer, whatever the number of trees that they share."""

    __slots__ = ("_heartbeat", "_last", "above", "below", "heard", "spoken", "unnamed")

    def __init__(self, now: float) -> None:
        self.below: set[int] = set()
        """Topics in whose trees the other is this peer's child: the children table, by child."""
        self.above: set[int] = set()
        """Topics in whose trees the other is this peer's parent."""
        self.unnamed: dict[int, float] = {}
        """Those of `below` that the child does not refresh -> when they end (s of trial time)."""
        self.heard = now
        self.spoken = False
        """Whether the other got an event since the last heartbeat that was due."""
        self._heartbeat: TreeHeartbeat | None = None
        self._last: TreeHeartbeat | None = None

    def change(self) -> None:
        """Something of the above is not what it was."""
        self._heartbeat = self._last = None

    def due(self) -> TreeHeartbeat | None:
        """What to tell the other now; None if an event has just said the same."""
        spoken, self.spoken = self.spoken, False
        if self._heartbeat is None:
            self._heartbeat = TreeHeartbeat(children=sorted(self.below), parents=sorted(self.above))
        elif spoken:
            return None
        return self._heartbeat

    def repeats(self, heartbeat: TreeHeartbeat) -> bool:
        """Whether the other says what it said before, and nothing has changed here since."""
        if heartbeat is self._last or heartbeat == self._last:
            return True
        self._last = heartbeat
        return False

    def refresh(self, named: set[int], ends: float) -> None:
        """The child names the topics that it wants; what it leaves out ends then."""
        for topic in self.below & named:
            self.unnamed.pop(topic, None)
        for topic in self.below - named:
            self.unnamed.setdefault(topic, ends)
