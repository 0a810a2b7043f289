"""Decodes what arrives from other hosts; what peers say again and again is decoded once."""

from __future__ import annotations

from typing import NamedTuple

from emulator.messages.catalogue import decode
from emulator.messages.message import Message

A_PEER = 32
"""As many long messages as a peer gets in a round or more, so that what it is told again is among them."""
_SHORT = 64
"""Bytes that are decoded as fast as looked up."""


class _Known(NamedTuple):
    kind: str
    payload: bytes
    message: Message


class Decoder:
    """Equal bytes are the same message, as on the virtual clock, where messages are shared by reference.

    A peer's heartbeat goes to all its neighbours, and is the same in most rounds: a protocol that is told
    the object that it was told last has nothing to compare. Only what has come twice is kept, because most
    kinds of messages are never the same again.
    """

    def __init__(self, generation: int) -> None:
        """Remembers at least the last `generation` messages that are not short, and at most twice as many."""
        self._generation = generation
        self._young: dict[int, _Known | None] = {}
        """By hash; None for what has come once."""
        self._old: dict[int, _Known | None] = {}

    def __len__(self) -> int:
        """How many messages it remembers, those that have come once too."""
        return len(self._young) + len(self._old)

    def decode(self, kind: str, payload: bytes) -> Message:
        """The message of that type. Raises KeyError for an unknown type, MalformedMessage for bad bytes."""
        if len(payload) < _SHORT:
            return decode(kind, payload)
        key = hash((kind, payload))
        if key in self._young:
            known = self._young[key]
        elif key in self._old:
            known = self._keep(key, self._old[key])
        else:
            message = decode(kind, payload)
            self._keep(key, None)
            return message
        if known is None or known.payload != payload or known.kind != kind:
            known = _Known(kind, payload, decode(kind, payload))
            self._young[key] = known
        return known.message

    def _keep(self, key: int, known: _Known | None) -> _Known | None:
        if len(self._young) >= self._generation:
            self._old, self._young = self._young, {}
        self._young[key] = known
        return known
