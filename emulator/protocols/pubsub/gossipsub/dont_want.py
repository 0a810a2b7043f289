"""IDONTWANT: peers say that they have a large message, and are spared further copies (v1.2)."""

from __future__ import annotations


class DontWant:
    """The messages that peers do not want (`dont_send_message_ids`), by heartbeats."""

    def __init__(self, *, most: int, kept: int) -> None:
        """A peer's first `most` messages of a heartbeat are heeded, and kept for `kept` heartbeats."""
        self._most = most
        self._kept = kept
        self._windows: list[dict[int, dict[int, None]]] = [{}]
        """For each of the last heartbeats the messages, each with the peers that do not want it."""
        self._counts: dict[int, int] = {}

    def add(self, peer: int, event: int) -> bool:
        """Note that a peer does not want a message. Returns false if it said so of too many."""
        count = self._counts[peer] = self._counts.get(peer, 0) + 1
        if count > self._most:
            return False
        self._windows[0].setdefault(event, {})[peer] = None
        return True

    def spares(self, peer: int, event: int) -> bool:
        """Return whether a peer said that it does not want a message."""
        return any(peer in window.get(event, {}) for window in self._windows)

    def heartbeat(self) -> None:
        """Begin to count anew, and forget what is old."""
        self._counts.clear()
        if len(self._windows) > 1 or self._windows[0]:
            self._windows.insert(0, {})
            del self._windows[self._kept :]
