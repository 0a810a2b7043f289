"""Joins that a peer has routed and that nobody has accepted yet."""

from __future__ import annotations

from collections.abc import Iterator

from trellis.v1.scribe_pb2 import TreeJoin

from emulator.identifiers import of_topic
from emulator.protocol import Environment, Overlay, Timer


class _Join:
    __slots__ = ("at", "hop")

    def __init__(self, at: float) -> None:
        self.at = at
        """When it was last sent, or put off (s of trial time)."""
        self.hop: int | None = None
        """The peer that it was sent to."""


class Joins:
    """By topic. Each is repeated after `timeout` seconds, and when its next hop turns out unreachable."""

    def __init__(self, environment: Environment, overlay: Overlay, timeout: float) -> None:
        self._environment = environment
        self._overlay = overlay
        self._timeout = timeout
        self._pending: dict[int, _Join] = {}
        self._timer: Timer | None = None

    def __contains__(self, topic: int) -> bool:
        return topic in self._pending

    def __iter__(self) -> Iterator[int]:
        return iter(self._pending)

    def clear(self) -> None:
        """Forget all."""
        self._pending.clear()

    def send(self, topic: int) -> None:
        """Route a join; a peer without neighbours waits for the first one."""
        self.put_off(topic)
        if self._overlay.neighbour_set(1):
            peer = self._environment.self_contact.peer
            self._overlay.route(of_topic(topic), TreeJoin(topic=topic, child=peer))

    def put_off(self, topic: int) -> None:
        """Send it after the time-out."""
        self._pending[topic] = _Join(self._environment.now)
        if self._timer is None:
            self._timer = self._environment.set_timer(self._timeout, self._repeat)

    def sent_to(self, topic: int, hop: int) -> None:
        """The overlay has chosen the next hop."""
        join = self._pending.get(topic)
        if join is not None:
            join.hop = hop

    def end(self, topic: int) -> bool:
        """There is a parent, or no need of one; whether there was a join under way."""
        return self._pending.pop(topic, None) is not None

    def send_unsent(self) -> None:
        """There is a neighbour now."""
        self._send_all([topic for topic, join in self._pending.items() if join.hop is None])

    def on_unreachable(self, peer: int) -> None:
        """What was sent to `peer` takes another way; the overlay is to know before."""
        self._send_all([topic for topic, join in self._pending.items() if join.hop == peer])

    def _repeat(self) -> None:
        self._timer = None
        last = self._environment.now - self._timeout / 2
        self._send_all([topic for topic, join in self._pending.items() if join.at <= last])
        if self._pending and self._timer is None:
            self._timer = self._environment.set_timer(self._timeout, self._repeat)

    def _send_all(self, topics: list[int]) -> None:
        for topic in topics:
            self.send(topic)
