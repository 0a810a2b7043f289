"""How the parts of a peer speak to other peers, and to their own peer as if it were another."""

from __future__ import annotations

from google.protobuf.message import Message

from emulator import identifiers
from emulator.identifiers import MASK
from emulator.protocol import Environment, Handler, Overlay

_ALL = 64
"""More neighbours in identifier space than an overlay keeps."""


class Wire:
    """Sending, routing, and whose keys are whose."""

    def __init__(self, environment: Environment, overlay: Overlay) -> None:
        self._environment = environment
        self._overlay = overlay
        self.peer = environment.self_contact.peer
        self._own = identifiers.of_peer(self.peer)
        self.handlers: dict[type[Message], Handler] = {}
        """Of this peer's own direct messages."""
        self._version: int | None = None
        self._first = 0
        self._span = 0

    def send(self, peer: int, message: Message) -> None:
        """Directly; what goes to this peer itself is handled at once."""
        if peer == self.peer:
            self.handlers[message.__class__](peer, message)
        else:
            self._environment.send(peer, message)

    def route(self, key: int, message: Message) -> None:
        """To the peer that is closest to the key."""
        self._overlay.route(key, message)

    def is_home(self, key: int) -> bool:
        """Whether no peer that this one knows is closer to the key."""
        if self._version != self._overlay.routes_version:
            self._measure()
        return (key - self._first) & MASK <= self._span

    def next_hop(self, key: int) -> int | None:
        return self._overlay.next_hop(key)

    def beside(self) -> list[int]:
        """The nearest known peer on each side, once if it is the same."""
        around = self._clockwise()
        return list(dict.fromkeys((around[0][1], around[-1][1]))) if around else []

    def closest(self, key: int, among: list[int]) -> int | None:
        """The peer of `among` that is closest to the key."""
        return min(among, key=lambda p: identifiers.distance(identifiers.of_peer(p), key), default=None)

    def is_closer(self, peer: int, key: int) -> bool:
        """Whether `peer` is closer to the key than this one."""
        other = identifiers.distance(identifiers.of_peer(peer), key)
        return other < identifiers.distance(self._own, key)

    def neighbours(self, count: int = _ALL) -> list[int]:
        """Known peers next to this one in identifier space, nearest first."""
        return list(self._overlay.neighbour_set(count))

    def _clockwise(self) -> list[tuple[int, int]]:
        return sorted(((identifiers.of_peer(p) - self._own) & MASK, p) for p in self.neighbours())

    def _measure(self) -> None:
        around = self._clockwise()
        if around:
            before = (self._own - identifiers.of_peer(around[-1][1])) & MASK
            self._first = (self._own - before // 2) & MASK
            self._span = before // 2 + around[0][0] // 2
        else:
            self._first, self._span = 0, MASK
        self._version = self._overlay.routes_version
