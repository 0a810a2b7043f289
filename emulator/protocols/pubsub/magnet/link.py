"""The link of two neighbours in Magnet's trees: what each knows of the other."""

from __future__ import annotations

from emulator.protocols.pubsub.shared.tree_links import TreeLink
from trellis.v1.magnet import RingTreeHeartbeat, TreeBound


class MagnetLink(TreeLink):
    """This peer's side. The other's identifier is the one that it had when it became a child."""

    def __init__(self, now: float) -> None:
        super().__init__(now)
        self.unnamed = 0
        """Topics of `below` that the other's last heartbeat did not name."""
        self._beat: RingTreeHeartbeat | None = None

    def change(self) -> None:
        """Note that the link has changed: heartbeats are to be composed and read anew."""
        self._beat = self._last = None

    def end_child(self, topic: int) -> None:
        """Have the other no more for a child in the topic's tree."""
        super().end_child(topic)
        self.unnamed &= ~(1 << topic)

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
