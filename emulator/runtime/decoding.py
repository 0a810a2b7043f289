"""Decodes what arrives from other hosts; what peers say again and again is decoded once."""

from __future__ import annotations

from emulator.messages.catalogue import decode
from emulator.messages.message import Message

_GENERATION = 1 << 14
"""Messages that arrive until what has not come again is forgotten; 1.5 MiB if none is told twice."""


class Decoder:
    """Equal bytes are the same message, as on the virtual clock, where messages are shared by reference.

    A peer's heartbeat goes to all its neighbours, and is the same in most rounds: a protocol that finds the
    object that it was told last has nothing to compare. Only what has come twice is kept, because most
    messages come once.
    """

    def __init__(self, generation: int = _GENERATION) -> None:
        """Remembers the last `generation` messages, and less than twice as many."""
        self._generation = generation
        self._young: dict[int, tuple[str, bytes, Message] | None] = {}
        """By hash; None if it came once."""
        self._old: dict[int, tuple[str, bytes, Message] | None] = {}

    def decode(self, kind: str, payload: bytes) -> Message:
        """The message of that type. Raises KeyError for an unknown type, MalformedMessage for bad bytes."""
        key = hash((kind, payload))
        young = self._young
        known = young.get(key)
        if known is None:
            known = self._old.get(key)
            if known is not None:
                self._remember(key, known)
        if known is not None and known[0] == kind and known[1] == payload:
            return known[2]
        message = decode(kind, payload)
        came_before = key in young or key in self._old
        self._remember(key, (kind, payload, message) if came_before else None)
        return message

    def _remember(self, key: int, known: tuple[str, bytes, Message] | None) -> None:
        if len(self._young) >= self._generation:
            self._old, self._young = self._young, {}
        self._young[key] = known
