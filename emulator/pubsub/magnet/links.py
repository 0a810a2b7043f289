"""What two neighbours in trees know of each other: one link for all the trees that they share."""

from __future__ import annotations

from trellis.v1.magnet import RingTreeHeartbeat, TreeBound


class TreeLink:
    """This peer's side."""

    __slots__ = ("_beat", "_last", "above", "below", "heard", "identifier", "unnamed")

    def __init__(self, now: float) -> None:
        self.below = 0
        """Topics in whose trees the other is this peer's child (a bit set)."""
        self.above = 0
        """Topics in whose trees the other is this peer's parent (a bit set)."""
        self.identifier = 0
        """Of the other when it became a child."""
        self.unnamed = 0
        """Topics of `below` that the other's last heartbeat did not name."""
        self.heard = now
        """The time at which the other was last heard from (s of trial time)."""
        self._beat: RingTreeHeartbeat | None = None
        self._last: RingTreeHeartbeat | None = None

    def change(self) -> None:
        """Note that the link changed: heartbeats are to be composed and read anew."""
        self._beat = self._last = None

    def beat(self, bounds: dict[int, int]) -> RingTreeHeartbeat:
        """Compose what this peer tells the other; `bounds` has the topics by the end of the interval."""
        beat = self._beat
        if beat is None:
            told = [TreeBound(topics, end) for end, topics in bounds.items()]
            beat = self._beat = RingTreeHeartbeat(self.above, told)
        return beat

    @property
    def composed(self) -> bool:
        """Whether the heartbeat says the same as the last one."""
        return self._beat is not None

    def repeats(self, beat: RingTreeHeartbeat) -> bool:
        """Whether the other says what it said before, and nothing has changed here since."""
        if beat is self._last:
            return True
        self._last = beat
        return False
