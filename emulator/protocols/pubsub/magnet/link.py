"""The link of two neighbours in Magnet's trees: what each knows of the other."""

from __future__ import annotations

from emulator.protocols.pubsub.shared.tree_links import TreeLink
from trellis.v1.magnet import RingTreeHeartbeat, TreeBound


class MagnetLink(TreeLink):
    """This peer's side of a link.

    The other peer's identifier is the one that it had when it became a child.
    """

    def __init__(self, now: float) -> None:
        super().__init__(now)
        self.unnamed = 0
        """The topics of `below` that the other peer's last heartbeat did not name."""
        self._beat: RingTreeHeartbeat | None = None

    def change(self) -> None:
        """Note that the link has changed, so that heartbeats are composed and read anew."""
        self._beat = self._last = None

    def end_child(self, topic: int) -> None:
        """Remove the other peer as a child in the topic's tree."""
        super().end_child(topic)
        self.unnamed &= ~(1 << topic)

    def beat(self, bounds: dict[int, int]) -> RingTreeHeartbeat:
        """Compose this peer's heartbeat to the other; `bounds` has the topics by their interval's end."""
        beat = self._beat
        if beat is None:
            told = [TreeBound(topics, end) for end, topics in bounds.items()]
            beat = self._beat = RingTreeHeartbeat(self.above, told)
        return beat

    @property
    def composed(self) -> bool:
        """Whether the next heartbeat says the same as the last one."""
        return self._beat is not None
