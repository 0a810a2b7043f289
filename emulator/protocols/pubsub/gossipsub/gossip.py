"""Gossip: peers outside of the mesh are told what was sent (IHAVE), and ask for what they lack (IWANT).

It follows v1.0, "Gossip Emission", and v1.1, "Adaptive Gossip Dissemination" and "Spam Protection Measures".
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Final

from emulator.contract.draws import draw_few
from emulator.contract.protocol import Environment
from emulator.protocols.pubsub.gossipsub.connections import Connections
from emulator.protocols.pubsub.gossipsub.message_cache import MessageCache
from emulator.protocols.pubsub.gossipsub.parameters import GossipSubParameters
from emulator.protocols.pubsub.gossipsub.promises import Promises
from emulator.protocols.pubsub.gossipsub.scores import PeerScores
from emulator.protocols.pubsub.gossipsub.seen import Seen
from trellis.v1.gossipsub import GossipIHave, GossipIWant, TopicMessage

IGNORED: Final = "its sender scores below the gossip threshold"


class Gossip:
    """What one peer tells others, and asks them for."""

    def __init__(
        self,
        environment: Environment,
        parameters: GossipSubParameters,
        connections: Connections,
        scores: PeerScores,
        cache: MessageCache,
        seen: Seen,
        topics: Container[int],
        send: Callable[[int, TopicMessage], None],
    ) -> None:
        """`topics` has the topics that this peer subscribes to, as they change; `send` sends a message to a
        peer."""
        self._environment = environment
        self._connections = connections
        self._scores = scores
        self._cache = cache
        self._seen = seen
        self._topics = topics
        self._send = send
        self._extended = parameters.version != "1.0"
        self._lazy = int(parameters.degree_lazy)
        self._factor = float(parameters.gossip_factor) if self._extended else 0.0
        self._threshold = float(parameters.score.gossip_threshold)
        self._most_ihave = int(parameters.max_ihave_messages)
        self._most_asked = int(parameters.max_ihave_length)
        self._most_sent = int(parameters.gossip_retransmission)
        self._heard: dict[int, int] = {}
        """The IHAVE of each peer since the last heartbeat."""
        self._asked: dict[int, int] = {}
        """The messages that each peer was asked for since the last heartbeat."""
        self._promises = Promises(float(parameters.iwant_followup))
        environment.handle(GossipIHave, self._on_ihave)
        environment.handle(GossipIWant, self._on_iwant)

    def heartbeat(self) -> None:
        """Penalise peers that broke promises (P7), and begin to count anew."""
        self._heard.clear()
        self._asked.clear()
        if self._extended:
            for peer, broken in self._promises.broken(self._environment.now):
                self._scores.penalise(peer, broken)

    def emit(self, topic: int, members: Container[int]) -> None:
        """Tell random peers of a topic, other than these members, of its latest messages."""
        if not self._lazy:
            return
        events = self._cache.gossip_ids(topic)
        if not events:
            return
        others = [
            peer
            for peer in self._connections.in_topic(topic)
            if peer not in members and self._scores.score(peer) >= self._threshold
        ]
        count = min(len(others), max(self._lazy, int(self._factor * len(others))))
        random = self._environment.random
        told = GossipIHave(topic, events)
        for peer in draw_few(random, others, count):
            if len(events) > self._most_asked:
                told = GossipIHave(topic, draw_few(random, events, self._most_asked))
            self._environment.send(peer, told)

    def arrived(self, event: int) -> None:
        """Note that a message came, from whomever: what was promised of it is kept."""
        self._promises.kept(event)

    def _on_ihave(self, sender: int, message: GossipIHave) -> None:
        if message.topic not in self._topics:
            return
        wanted: list[int] = []
        for event in message.events:
            if event not in self._seen and event not in wanted:
                wanted.append(event)
        if self._extended:
            if self._scores.score(sender) < self._threshold:
                self._environment.drop(GossipIHave, IGNORED)
                return
            heard = self._heard[sender] = self._heard.get(sender, 0) + 1
            room = self._most_asked - self._asked.get(sender, 0)
            if heard > self._most_ihave or room <= 0:
                self._environment.drop(GossipIHave, "its sender told of too much in a heartbeat")
                return
            if len(wanted) > room:
                wanted = draw_few(self._environment.random, wanted, room)
        if not wanted:
            return
        self._environment.send(sender, GossipIWant(wanted))
        if self._extended:
            self._asked[sender] = self._asked.get(sender, 0) + len(wanted)
            tracked = self._environment.random.choice(wanted)
            self._promises.add(sender, tracked, self._environment.now)

    def _on_iwant(self, sender: int, message: GossipIWant) -> None:
        if self._extended and self._scores.score(sender) < self._threshold:
            self._environment.drop(GossipIWant, IGNORED)
            return
        for event in message.events:
            found = self._cache.get(event)
            if found is None:
                continue
            if self._extended and self._cache.count_sent(event, sender) > self._most_sent:
                continue
            self._send(sender, found)
