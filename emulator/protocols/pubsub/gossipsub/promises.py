"""Promises: messages that peers told of and were asked for (v1.1, "Spam Protection Measures")."""

from __future__ import annotations


class Promises:
    """A random message of each IHAVE that was answered by IWANT, and until when it has to come."""

    def __init__(self, followup: float) -> None:
        """A message has to come within `followup` seconds, from whomever."""
        self._followup = followup
        self._until: dict[int, dict[int, float]] = {}
        """For each message the peers that promised it, with the time until which it has to come."""

    def add(self, peer: int, event: int, now: float) -> None:
        """Note that a peer was asked for a message; its first promise of that message counts."""
        self._until.setdefault(event, {}).setdefault(peer, now + self._followup)

    def kept(self, event: int) -> None:
        """Note that a message came."""
        self._until.pop(event, None)

    def broken(self, now: float) -> list[tuple[int, int]]:
        """Remove the promises that are overdue. Returns the peers with the number that each has broken."""
        broken: dict[int, int] = {}
        for event in list(self._until):
            peers = self._until[event]
            for peer in [peer for peer, until in peers.items() if until < now]:
                del peers[peer]
                broken[peer] = broken.get(peer, 0) + 1
            if not peers:
                del self._until[event]
        return list(broken.items())
