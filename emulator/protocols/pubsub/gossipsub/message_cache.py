"""The message cache: the messages of the last heartbeats (gossipsub v1.0, "Message Cache")."""

from __future__ import annotations

from trellis.v1.gossipsub import TopicMessage


class _Entry:
    """A message, and how often each peer was sent it by request."""

    __slots__ = ("message", "sent")

    def __init__(self, message: TopicMessage) -> None:
        self.message = message
        self.sent: dict[int, int] = {}


class MessageCache:
    """Messages in history windows, one for each heartbeat, the newest first."""

    def __init__(self, windows: int, gossiped: int) -> None:
        """Messages are kept for `windows` heartbeats, and told of in the first `gossiped` of these."""
        self._gossiped = gossiped
        self._entries: dict[int, _Entry] = {}
        self._windows: list[list[TopicMessage]] = [[] for _ in range(windows)]

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, message: TopicMessage) -> None:
        """Add a message to the current window, unless it is in the cache."""
        if message.event not in self._entries:
            self._entries[message.event] = _Entry(message)
            self._windows[0].append(message)

    def get(self, event: int) -> TopicMessage | None:
        """Return the message of this number, None if it is not here (any more)."""
        entry = self._entries.get(event)
        return None if entry is None else entry.message

    def count_sent(self, event: int, peer: int) -> int:
        """Note that `peer` asks for a message that is here, and return how often it has asked for it."""
        sent = self._entries[event].sent
        sent[peer] = sent.get(peer, 0) + 1
        return sent[peer]

    def gossip_ids(self, topic: int) -> list[int]:
        """Return the numbers of the topic's messages in the windows that gossip tells of, newest first."""
        return [
            message.event
            for window in self._windows[: self._gossiped]
            for message in window
            if message.topic == topic
        ]

    def shift(self) -> None:
        """Begin a new window, and forget the messages of the oldest."""
        for message in self._windows.pop():
            del self._entries[message.event]
        self._windows.insert(0, [])
