"""The large messages that wait for the peer's own link, so that an IDONTWANT can still spare them (v1.2)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from emulator.contract.protocol import Environment
from trellis.v1.gossipsub import TopicMessage


class Outbox:
    """Copies of messages that leave one after the other, as programs write to connections that are busy."""

    def __init__(self, environment: Environment, rate: float, spares: Callable[[int, int], bool]) -> None:
        """`rate` is in bit/s; `spares` says of a peer and an event whether the peer does not want it."""
        self._environment = environment
        self._rate = rate
        self._spares = spares
        self._waiting: deque[tuple[int, TopicMessage]] = deque()
        self._is_busy = False

    def send(self, peer: int, message: TopicMessage) -> None:
        """Send a message when those before it have left, unless the peer does not want it then."""
        self._waiting.append((peer, message))
        if not self._is_busy:
            self._send_next()

    def drop(self, peer: int) -> None:
        """Forget what waits for a peer that is connected no longer."""
        self._waiting = deque(each for each in self._waiting if each[0] != peer)

    def clear(self) -> None:
        """Forget what waits."""
        self._waiting.clear()

    def _send_next(self) -> None:
        self._is_busy = False
        while self._waiting:
            peer, message = self._waiting.popleft()
            if not self._spares(peer, message.event):
                self._is_busy = True
                self._environment.send(peer, message)
                self._environment.set_timer(8.0 * message.byte_size() / self._rate, self._send_next)
                return
