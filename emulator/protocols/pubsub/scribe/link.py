"""The link of two neighbours in Scribe's trees: what each knows of the other."""

from __future__ import annotations

from emulator.compact.bit_sets import bits
from emulator.protocols.pubsub.shared.tree_links import TreeLink
from trellis.v1.scribe import TreeHeartbeat


class ScribeLink(TreeLink):
    """This peer's side of a link. It knows the other peer's identifier only if that is a parent."""

    def __init__(self, now: float) -> None:
        super().__init__(now)
        self.unnamed: dict[int, float] = {}
        """The times at which topics of `below` end because the child does not refresh them (s of trial time).
        """
        self.spoken = False
        """Whether the other peer got an event since the last heartbeat was due."""
        self._heartbeat: TreeHeartbeat | None = None

    def change(self) -> None:
        """Note that the link has changed, so that the next heartbeats are composed and read anew."""
        self._heartbeat = self._last = None

    def end_child(self, topic: int) -> None:
        """Remove the other peer as a child in the topic's tree."""
        super().end_child(topic)
        self.unnamed.pop(topic, None)

    def due(self, identifier: int) -> TreeHeartbeat | None:
        """Return the heartbeat of this peer, with this identifier, to the other peer now.

        It returns None if an event has just said the same.
        """
        spoken, self.spoken = self.spoken, False
        told = identifier if self.below else 0
        if self._heartbeat is None or self._heartbeat.identifier != told:
            self._heartbeat = TreeHeartbeat(children=self.below, parents=self.above, identifier=told)
        elif spoken:
            return None
        return self._heartbeat

    def refresh(self, named: int, ends: float) -> None:
        """Let topics of `below` that the child does not name end at `ends`, or earlier if set so before."""
        self.unnamed = {topic: self.unnamed.get(topic, ends) for topic in bits(self.below & ~named)}
