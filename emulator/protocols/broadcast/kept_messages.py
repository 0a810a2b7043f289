"""The messages that a peer can still send to others."""

from __future__ import annotations

from collections.abc import Iterator

from emulator.contract.protocol import Environment
from trellis.v1.broadcast import BroadcastEvent


class KeptMessages:
    """Messages as they arrive at the next peer, by number.

    A message is offered for `keep` seconds after it came, and stays for as long again, so that it is not
    offered to a peer that got it a little earlier and has forgotten it already.
    """

    def __init__(self, environment: Environment, keep: float) -> None:
        self._environment = environment
        self._keep = keep
        self._messages: dict[int, BroadcastEvent] = {}
        self._came: dict[int, float] = {}
        """The time (s) at which each message came, in order of it."""

    def add(self, message: BroadcastEvent) -> None:
        """Keep a message."""
        self._forget_old()
        self._messages[message.event] = message
        self._came[message.event] = self._environment.now

    def get(self, number: int) -> BroadcastEvent | None:
        """Return a message, None if it is not here any more."""
        self._forget_old()
        return self._messages.get(number)

    def numbers(self) -> list[int]:
        """Return the numbers of all messages, in the order in which they came."""
        self._forget_old()
        return list(self._messages)

    def offered(self) -> Iterator[BroadcastEvent]:
        """Yield the messages that came within the last `keep` seconds."""
        oldest = self._environment.now - self._keep
        for number, message in self._messages.items():
            if self._came[number] >= oldest:
                yield message

    def _forget_old(self) -> None:
        oldest = self._environment.now - 2 * self._keep
        while self._came:
            number = next(iter(self._came))
            if self._came[number] >= oldest:
                return
            del self._came[number], self._messages[number]
