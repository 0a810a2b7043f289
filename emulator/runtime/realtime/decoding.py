"""Decoding of messages from other hosts; a message that peers repeat is decoded once."""

from __future__ import annotations

from typing import NamedTuple

from emulator.messages.catalogue import decode
from emulator.messages.message import Message

A_PEER = 32
"""The messages to remember for each peer: at least as many long ones as it gets in a round, to find repeated
ones."""
_SHORT = 64
"""Messages below this many bytes are decoded as fast as they are looked up."""


class _Known(NamedTuple):
    kind: str
    payload: bytes
    message: Message


class Decoder:
    """A decoder that gives the same object for equal bytes, as the virtual clock shares messages by
    reference.

    A peer's heartbeat goes to all its neighbours and is the same in most rounds, and a protocol that gets the
    same object again need not compare it. The decoder keeps only what came twice, because most kinds of
    messages never come again.
    """

    def __init__(self, generation: int) -> None:
        """The decoder remembers the last `generation` to 2 * `generation` messages that are not short."""
        self._generation = generation
        self._young: dict[int, _Known | None] = {}
        """The messages by hash; None for what has come once."""
        self._old: dict[int, _Known | None] = {}

    def __len__(self) -> int:
        """Return the number of remembered messages, including those that have come once."""
        return len(self._young) + len(self._old)

    def decode(self, kind: str, payload: bytes) -> Message:
        """Return the message. Raises KeyError for an unknown type, MalformedMessage for bad bytes."""
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
