"""Neighbours in distribution trees: one link for all the trees that two peers share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from emulator.contract.protocol import Environment
from emulator.messages.message import Message


class TreeLink:
    """This peer's side of a link in trees."""

    def __init__(self, now: float) -> None:
        self.below = 0
        """The topics in whose trees the other peer is this peer's child, as a bit set: a children table by
        child."""
        self.above = 0
        """The topics in whose trees the other peer is this peer's parent, as a bit set."""
        self.identifier = 0
        """The other peer's identifier in the overlay, as it told last."""
        self.heard = now
        """The time at which the other peer was last heard from (s of trial time)."""
        self._last: Message | None = None

    def change(self) -> None:
        """Note that the link has changed, so that the other peer's next heartbeat is read anew."""
        self._last = None

    def end_child(self, topic: int) -> None:
        """Remove the other peer as a child in the topic's tree."""
        self.below &= ~(1 << topic)
        self.change()

    def repeats(self, heartbeat: Message) -> bool:
        """Return whether the other peer says what it said before, and nothing has changed here since."""
        if heartbeat is self._last or heartbeat == self._last:
            return True
        self._last = heartbeat
        return False


L = TypeVar("L", bound=TreeLink)


class LinkTable(Generic[L]):
    """The links of one peer by the other peer's number. A link lasts as long as the two share a tree."""

    def __init__(self, environment: Environment, make: Callable[[float], L]) -> None:
        """`make` returns a link, given the present time (s)."""
        self._environment = environment
        self._make = make
        self.by_peer: dict[int, L] = {}

    def to(self, peer: int) -> L:
        """Return the link to `peer`, a new one if there is none."""
        link = self.by_peer.get(peer)
        if link is None:
            link = self.by_peer[peer] = self._make(self._environment.now)
        return link

    def hear(self, peer: int) -> None:
        """Count an event from `peer` as a heartbeat."""
        link = self.by_peer.get(peer)
        if link is not None:
            link.heard = self._environment.now

    def silent_since(self, oldest: float) -> list[int]:
        """Return the peers that were not heard from at `oldest` (s of trial time) or later."""
        return [peer for peer, link in self.by_peer.items() if link.heard < oldest]

    def begin_child(self, peer: int, topic: int) -> L:
        """Add `peer` as a child in the topic's tree."""
        link = self.to(peer)
        link.below |= 1 << topic
        link.change()
        return link

    def begin_parent(self, peer: int, topic: int) -> L:
        """Set `peer` as the parent in the topic's tree."""
        link = self.to(peer)
        link.above |= 1 << topic
        link.change()
        return link

    def end_child(self, peer: int, topic: int) -> bool:
        """Remove `peer` as a child in the topic's tree. Returns whether it was one."""
        link = self.by_peer.get(peer)
        if link is None or not link.below >> topic & 1:
            return False
        link.end_child(topic)
        self.drop_if_bare(peer)
        return True

    def end_parent(self, peer: int, topic: int) -> None:
        """Remove `peer` as the parent in the topic's tree."""
        link = self.by_peer[peer]
        link.above &= ~(1 << topic)
        link.change()
        self.drop_if_bare(peer)

    def drop_if_bare(self, peer: int) -> None:
        """End the link if the two peers no longer share a tree."""
        link = self.by_peer.get(peer)
        if link is not None and not link.above and not link.below:
            del self.by_peer[peer]
