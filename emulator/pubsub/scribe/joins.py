"""Joins that a peer has routed and that nobody has accepted yet."""

from __future__ import annotations

from collections.abc import Iterator

from trellis.v1.scribe_pb2 import TreeJoin

from emulator.identifiers import of_topic
from emulator.protocol import Delay, Environment, Overlay


class _Join:
    __slots__ = ("again", "hop")

    def __init__(self, again: Delay) -> None:
        self.again = again
        """The repetition, in the trace of whoever asked last."""
        self.hop: int | None = None
        """The peer that it was sent to."""


class Joins:
    """By topic. Each is repeated after `timeout` seconds, and when its next hop turns out unreachable."""

    def __init__(self, environment: Environment, overlay: Overlay, timeout: float) -> None:
        self._environment = environment
        self._overlay = overlay
        self._timeout = timeout
        self._pending: dict[int, _Join] = {}

    def __contains__(self, topic: int) -> bool:
        return topic in self._pending

    def __iter__(self) -> Iterator[int]:
        return iter(self._pending)

    def clear(self) -> None:
        """Forget all."""
        for join in self._pending.values():
            join.again.cancel()
        self._pending.clear()

    def send(self, topic: int) -> None:
        """Route a join; a peer without neighbours waits for the first one."""
        self.put_off(topic)
        if self._overlay.neighbour_set(1):
            peer = self._environment.self_contact.peer
            self._overlay.route(of_topic(topic), TreeJoin(topic=topic, child=peer))

    def put_off(self, topic: int) -> None:
        """Send it after the time-out."""
        self.end(topic)
        self._pending[topic] = _Join(self._environment.set_timer(self._timeout, lambda: self.send(topic)))

    def sent_to(self, topic: int, hop: int) -> None:
        """The overlay has chosen the next hop."""
        join = self._pending.get(topic)
        if join is not None:
            join.hop = hop

    def end(self, topic: int) -> bool:
        """There is a parent, or no need of one; whether there was a join under way."""
        join = self._pending.pop(topic, None)
        if join is not None:
            join.again.cancel()
        return join is not None

    def send_unsent(self) -> None:
        """There is a neighbour now."""
        for join in self._pending.values():
            if join.hop is None:
                join.again.hasten()

    def on_unreachable(self, peer: int) -> None:
        """What was sent to `peer` takes another way, if the overlay, which is to know before, has one."""
        for topic, join in self._pending.items():
            if join.hop == peer and self._overlay.next_hop(of_topic(topic)) != peer:
                join.again.hasten()
