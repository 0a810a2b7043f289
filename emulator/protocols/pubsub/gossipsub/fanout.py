"""The fan-out: whom a peer sends to in topics that it publishes in and does not subscribe to (v1.0)."""

from __future__ import annotations

from random import Random

from emulator.protocols.pubsub.gossipsub.connections import Connections
from emulator.protocols.pubsub.gossipsub.scores import PeerScores


class _Topic:
    __slots__ = ("peers", "published_at")

    def __init__(self, published_at: float) -> None:
        self.peers: dict[int, None] = {}
        self.published_at = published_at


class Fanout:
    """The chosen peers of each topic. Times are in seconds of trial time."""

    def __init__(
        self,
        connections: Connections,
        scores: PeerScores,
        draw: Random,
        *,
        degree: int,
        ttl: float,
        least: float,
    ) -> None:
        """Peers with a score below `least` are not chosen (v1.1, "Score Thresholds")."""
        self._connections = connections
        self._scores = scores
        self._least = least
        self._draw = draw
        self._degree = degree
        self._ttl = ttl
        self._topics: dict[int, _Topic] = {}

    def publish(self, topic: int, now: float) -> list[int]:
        """Return the peers that a message published now goes to; up to `degree` are chosen if there are
        none."""
        state = self._topics.get(topic)
        if state is None:
            state = self._topics[topic] = _Topic(now)
        state.published_at = now
        if not state.peers:
            self._fill(topic, state)
        return list(state.peers)

    def topics(self) -> list[int]:
        """Return the topics that have a fan-out."""
        return list(self._topics)

    def peers(self, topic: int) -> list[int]:
        """Return the chosen peers of a topic."""
        state = self._topics.get(topic)
        return [] if state is None else list(state.peers)

    def take(self, topic: int) -> list[int]:
        """Remove the chosen peers of a topic, which this peer joins, and return them."""
        state = self._topics.pop(topic, None)
        return [] if state is None else list(state.peers)

    def drop(self, peer: int) -> None:
        """Forget a peer that is connected no longer."""
        for state in self._topics.values():
            state.peers.pop(peer, None)

    def heartbeat(self, now: float) -> None:
        """Forget topics without a recent publication, and fill up the others (v1.0, "Fanout Maintenance")."""
        for topic in list(self._topics):
            state = self._topics[topic]
            if now - state.published_at > self._ttl:
                del self._topics[topic]
                continue
            members = self._connections.in_topic(topic)
            for peer in [peer for peer in state.peers if peer not in members or not self._may_have(peer)]:
                del state.peers[peer]
            self._fill(topic, state)

    def _fill(self, topic: int, state: _Topic) -> None:
        missing = self._degree - len(state.peers)
        if missing > 0:
            others = [
                peer
                for peer in self._connections.in_topic(topic)
                if peer not in state.peers and self._may_have(peer)
            ]
            for peer in self._draw.sample(others, min(missing, len(others))):
                state.peers[peer] = None

    def _may_have(self, peer: int) -> bool:
        return self._scores.score(peer) >= self._least
