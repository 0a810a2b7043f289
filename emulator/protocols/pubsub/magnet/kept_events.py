"""The events that passed a peer lately, for those who come to it from a broken part of a tree.

Among them are those that came to a new home before it had a tree.
"""

from __future__ import annotations

from typing import Final

from emulator.messages.message import Message

_NAMED: Final = 16
"""Kept events that are named at most to who comes."""


class KeptEvents:
    """By topic, in the order in which they passed."""

    def __init__(self) -> None:
        self._of: dict[int, list[tuple[float, Message]]] = {}
        """With the times at which they passed (s of trial time)."""
        self.early: set[int] = set()
        """Topics of which events came to this peer as the home, which has no tree of the topic yet."""

    def keep(self, topic: int, now: float, event: Message) -> None:
        """Keep an event that passes at `now` (s of trial time)."""
        self._of.setdefault(topic, []).append((now, event))

    def since(self, topic: int, oldest: float) -> list[Message]:
        """The events of the topic that passed at `oldest` (s of trial time) or later."""
        return [event for at, event in self._of.get(topic, ()) if at >= oldest]

    def numbers(self, topic: int) -> list[int]:
        """The numbers of the topic's newest events."""
        return [event.event_number() for _, event in self._of.get(topic, ())[-_NAMED:]]

    def forget_before(self, oldest: float) -> None:
        """Keep no event that passed before `oldest` (s of trial time)."""
        for topic in list(self._of):
            kept = [(at, event) for at, event in self._of[topic] if at >= oldest]
            if kept:
                self._of[topic] = kept
            else:
                del self._of[topic]
        self.early = {topic for topic in self.early if topic in self._of}
