"""Messages between the parts of peers.

A message of a peer to itself is handled at once and crosses no link.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from emulator.contract.protocol import Environment, M, Message, Timer


class Post:
    """Sends to other peers by the environment, and to the own peer by a call."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self.peer = environment.peer
        self._handlers: dict[type[Message], Callable[[int, Message], None]] = {}
        self._answers: dict[type[Message], Callable[[int, Message], Message | None]] = {}

    def handle(self, kind: type[M], handler: Callable[[int, M], None]) -> None:
        """Handle messages of a kind, as `Environment.handle` does."""
        self._environment.handle(kind, handler)
        self._handlers[kind] = handler  # type: ignore[assignment]

    def serve(self, kind: type[M], answer: Callable[[int, M], Message | None]) -> None:
        """Answer requests of a kind, as `Environment.serve` does."""
        self._environment.serve(kind, answer)
        self._answers[kind] = answer  # type: ignore[assignment]

    def send(self, peer: int, message: Message) -> None:
        """Send a message, as `Environment.send` does."""
        if peer == self.peer:
            self._handlers[type(message)](peer, message)
        else:
            self._environment.send(peer, message)

    def request(
        self,
        peer: int,
        message: Message,
        timeout: float,
        replied: Callable[[Message], None],
        failed: Callable[[], None],
    ) -> Timer:
        """Send a request, as `Environment.request` does."""
        if peer != self.peer:
            return self._environment.request(peer, message, timeout, replied, failed)

        reply = self._answers[type(message)](peer, message)
        timer = self._environment.set_timer(math.inf, failed if reply is None else partial(replied, reply))
        timer.hasten()
        return timer
