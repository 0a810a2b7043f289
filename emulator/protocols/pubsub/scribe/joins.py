"""The joins that a peer has routed and that no peer has accepted yet."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.contract.identifiers import hash_of_topic
from emulator.contract.protocol import Environment, Overlay, Timer
from trellis.v1.scribe import TreeJoin


class _Join:
    __slots__ = ("again", "hop")

    def __init__(self, again: Timer) -> None:
        self.again = again
        """The timer that repeats the join, in the trace of the operation that asked last."""
        self.hop = -1
        """The peer that the join was sent to; -1 while it waits."""


class Joins:
    """The joins of one peer by topic.

    A join is repeated after `timeout` seconds, or when its next hop is unreachable.
    """

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
        """Forget all joins."""
        for join in self._pending.values():
            join.again.cancel()
        self._pending.clear()

    def send(self, topic: int) -> None:
        """Route a join. While this peer is still joining the overlay itself, the join waits."""
        self.put_off(topic)
        if self._overlay.ready:
            self._overlay.route(hash_of_topic(topic), TreeJoin(topic=topic, child=self._environment.peer))

    def put_off(self, topic: int) -> None:
        """Send the join after the time-out."""
        self.end(topic)
        self._pending[topic] = _Join(self._environment.set_timer(self._timeout, lambda: self.send(topic)))

    def sent_to(self, topic: int, hop: int) -> None:
        """Note the next hop that the overlay has chosen."""
        join = self._pending.get(topic)
        if join is not None:
            join.hop = hop

    def end(self, topic: int) -> bool:
        """Forget the join, because it is answered or not needed. Returns whether a join was under way."""
        join = self._pending.pop(topic, None)
        if join is not None:
            join.again.cancel()
        return join is not None

    def send_waiting(self) -> None:
        """Send the joins that waited for the overlay, if it is ready now."""
        if self._overlay.ready:
            for join in self._pending.values():
                if join.hop < 0:
                    join.again.hasten()

    def on_unreachable(self, peer: int) -> None:
        """Send the joins that went to `peer` another way. The overlay was told of the peer before."""
        for topic, join in self._pending.items():
            if join.hop == peer:
                hop = self._overlay.next_hop(hash_of_topic(topic))
                if hop is None or hop.peer != peer:
                    join.again.hasten()
