"""The events that passed a peer lately, for peers that come to it from a broken part of a tree.

Among them are the events that came to a new home before it had a tree.
"""

from __future__ import annotations

from typing import Final

from emulator.messages.message import Message

_NAMED: Final = 16
"""The most kept events that are named to a peer that comes."""


class KeptEvents:
    """The events that passed lately by topic, in the order in which they passed."""

    def __init__(self) -> None:
        self._of: dict[int, list[tuple[float, Message]]] = {}
        """The events of each topic, with the times at which they passed (s of trial time)."""
        self.early: set[int] = set()
        """The topics of which events came to this peer as the home before it had the topic's tree."""

    def keep(self, topic: int, now: float, event: Message) -> None:
        """Keep an event that passes at `now` (s of trial time)."""
        self._of.setdefault(topic, []).append((now, event))

    def since(self, topic: int, oldest: float) -> list[Message]:
        """Return the events of the topic that passed at `oldest` (s of trial time) or later."""
        return [event for at, event in self._of.get(topic, ()) if at >= oldest]

    def numbers(self, topic: int) -> list[int]:
        """Return the numbers of the topic's newest events."""
        return [event.event_number() for _, event in self._of.get(topic, ())[-_NAMED:]]

    def forget_before(self, oldest: float) -> None:
        """Drop events that passed before `oldest` (s of trial time)."""
        for topic in list(self._of):
            kept = [(at, event) for at, event in self._of[topic] if at >= oldest]
            if kept:
                self._of[topic] = kept
            else:
                del self._of[topic]
        self.early = {topic for topic in self.early if topic in self._of}
