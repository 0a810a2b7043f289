"""The connections of a peer, and what each connected peer subscribes to.

GossipSub learns of other peers by connections and leaves their discovery to its surroundings (v1.0, "Ambient
Peer Discovery"). Here a peer connects to peers of its Newscast view until half of the wanted connections are
its own, and takes what others make. Each end tells the other its topics when they connect, when they change,
and with each sign of life, so that a lost announcement is made good.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Final

from mypy_extensions import mypyc_attr, trait

from emulator.contract.protocol import Environment
from emulator.protocols.gossip.newscast import Newscast
from emulator.protocols.pubsub.gossipsub.parameters import GossipSubParameters
from trellis.v1.gossipsub import (
    ConnectionAlive,
    ConnectionAnswer,
    ConnectionEnd,
    ConnectionRequest,
    TopicAnnouncement,
)
from trellis.v1.overlay import Profile

_SILENT: Final = 3
"""The signs of life that may be missing before a connection ends."""


@mypyc_attr(allow_interpreted_subclasses=True)
@trait
class ConnectionListener:
    """A listener hears of connections that come and go."""

    @abstractmethod
    def connected(self, peer: int) -> None:
        """Take note of a new connection."""

    @abstractmethod
    def disconnected(self, peer: int) -> None:
        """Take note that a connection ended."""


class Connection:
    """A connected peer."""

    __slots__ = ("heard", "outbound", "topics")

    def __init__(self, outbound: bool, topics: Iterable[int], heard: float) -> None:
        self.outbound = outbound
        """This is true if this peer made the connection."""
        self.topics = frozenset(topics)
        self.heard = heard
        """The time of the last sign of life (s of trial time)."""


class Connections:
    """The connected peers of one peer."""

    def __init__(
        self, environment: Environment, parameters: GossipSubParameters, listener: ConnectionListener
    ) -> None:
        self._environment = environment
        self._listener = listener
        self._wanted = int(parameters.connections) // 2
        self._most = int(parameters.most_connections)
        self._keepalive = float(parameters.keepalive)
        self._period = float(parameters.discovery)
        self._timeout = float(parameters.request_timeout)
        self._own: dict[int, None] = {}
        """The topics that this peer subscribes to."""
        self.peers: dict[int, Connection] = {}
        self._by_topic: dict[int, list[int]] = {}
        """The lists that `in_topic` has made since a connection or its topics changed."""
        self._asked: dict[int, float] = {}
        """The peers that were asked for a connection, with the time (s) until which they may answer."""
        self._tells_topics = bool(parameters.topic_discovery)
        self._profile = Profile(environment.peer, environment.session, 1)
        self._newscast = Newscast(
            environment.channel("newscast"),
            self._own_profile,
            view_size=int(parameters.view),
            period=self._period,
        )
        environment.handle(ConnectionRequest, self._on_request)
        environment.handle(ConnectionAnswer, self._on_answer)
        environment.handle(ConnectionAlive, self._on_alive)
        environment.handle(ConnectionEnd, self._on_end)
        environment.handle(TopicAnnouncement, self._on_announcement)

    def start(self, contacts: Sequence[int]) -> None:
        """Connect to the first peers; more are found by gossip."""
        self._newscast.start(contacts)
        for contact in contacts[: self._wanted]:
            self._ask(contact)
        self._environment.every(self._period, self._seek)
        self._environment.every(self._keepalive, self._beat)

    def stop(self, graceful: bool) -> None:
        """End all connections."""
        if graceful:
            end = ConnectionEnd()
            for peer in self.peers:
                self._environment.send(peer, end)
        self._newscast.stop(graceful)
        self.peers.clear()
        self._by_topic.clear()
        self._asked.clear()

    def announce(self, topic: int, subscribes: bool) -> None:
        """Tell all connected peers that this one subscribes to a topic, or does so no longer."""
        if subscribes:
            self._own[topic] = None
        else:
            self._own.pop(topic, None)
        if self._tells_topics:
            self._profile = self._with_topics()
        told = TopicAnnouncement(topic, subscribes)
        for peer in self.peers:
            self._environment.send(peer, told)

    def in_topic(self, topic: int) -> list[int]:
        """Return the connected peers that subscribe to a topic. The caller leaves the list as it is."""
        found = self._by_topic.get(topic)
        if found is None:
            found = [peer for peer, connection in self.peers.items() if topic in connection.topics]
            self._by_topic[topic] = found
        return found

    def strangers_of(self, topic: int) -> list[int]:
        """Return the peers of the view that are not connected and whose profiles name a topic."""
        return [
            profile.peer
            for profile in self._newscast.view()
            if profile.topics >> topic & 1 and profile.peer not in self.peers
        ]

    def exchange_views(self, contacts: Sequence[int]) -> None:
        """Exchange Newscast views with these peers."""
        self._newscast.join_through(contacts)

    def is_outbound(self, peer: int) -> bool:
        """Return whether this peer is connected to another one and has made the connection."""
        connection = self.peers.get(peer)
        return connection is not None and connection.outbound

    def introduce(self, peers: Iterable[int]) -> None:
        """Connect to peers that another one told of."""
        for peer in peers:
            if len(self.peers) + len(self._asked) < self._most:
                self._ask(peer)

    def confirm(self, peer: int) -> bool:
        """Return whether a peer that sends what only a connected one does is connected, and tell it if not.

        One that this peer has asked has accepted, even if its answer comes later.
        """
        if peer in self.peers:
            return True
        if peer in self._asked:
            self._connect(peer, True, ())
            return True
        self._environment.send(peer, ConnectionEnd())
        return False

    def drop(self, peer: int) -> None:
        """Forget a connection, or that the peer was asked for one."""
        self._asked.pop(peer, None)
        if self.peers.pop(peer, None) is not None:
            self._by_topic.clear()
            self._listener.disconnected(peer)

    def _own_profile(self) -> Profile:
        return self._profile

    def _with_topics(self) -> Profile:
        """Return the next version of the own profile, which names the topics of now."""
        topics = 0
        for topic in self._own:
            topics |= 1 << topic
        known = self._profile
        return Profile(known.peer, known.session, known.version + 1, topics=topics)

    def _seek(self) -> None:
        """Ask as many peers of the view as own connections are missing."""
        now = self._environment.now
        for peer in [peer for peer, until in self._asked.items() if until <= now]:
            del self._asked[peer]
        made = len(self._asked)
        for connection in self.peers.values():
            made += connection.outbound
        if made < self._wanted and len(self.peers) + len(self._asked) < self._most:
            for peer in self._newscast.sample(self._wanted - made):
                self._ask(peer)

    def _ask(self, peer: int) -> None:
        if peer != self._environment.peer and peer not in self.peers and peer not in self._asked:
            self._asked[peer] = self._environment.now + self._timeout
            self._environment.send(peer, ConnectionRequest(list(self._own)))

    def _on_request(self, sender: int, request: ConnectionRequest) -> None:
        asked = sender in self._asked
        self.drop(sender)  # a peer that asks anew has lost the connection that this one thought to have
        if len(self.peers) >= self._most:
            self._environment.send(sender, ConnectionAnswer(False))
            return
        self._connect(sender, asked, request.topics)
        self._environment.send(sender, ConnectionAnswer(True, list(self._own)))

    def _on_answer(self, sender: int, answer: ConnectionAnswer) -> None:
        asked = self._asked.pop(sender, None) is not None
        if not answer.accepted:
            return
        if asked or sender in self.peers:
            self._connect(sender, True, answer.topics)
        else:  # the answer came too late
            self._environment.send(sender, ConnectionEnd())

    def _connect(self, peer: int, outbound: bool, topics: Iterable[int]) -> None:
        known = self.peers.get(peer)
        now = self._environment.now
        if known is None:
            self.peers[peer] = Connection(outbound, topics, now)
            self._by_topic.clear()
            self._listener.connected(peer)
        else:
            known.outbound = known.outbound or outbound
            self._take_topics(known, frozenset(topics))
            known.heard = now

    def _beat(self) -> None:
        """Give a sign of life to all connected peers, and drop those that are silent."""
        oldest = self._environment.now - _SILENT * self._keepalive
        for peer in [peer for peer, connection in self.peers.items() if connection.heard < oldest]:
            self.drop(peer)
        alive = ConnectionAlive(list(self._own))
        for peer in self.peers:
            self._environment.send(peer, alive)

    def _on_alive(self, sender: int, message: ConnectionAlive) -> None:
        if self.confirm(sender):
            connection = self.peers[sender]
            connection.heard = self._environment.now
            self._take_topics(connection, frozenset(message.topics))

    def _on_end(self, sender: int, message: ConnectionEnd) -> None:
        self.drop(sender)

    def _on_announcement(self, sender: int, message: TopicAnnouncement) -> None:
        connection = self.peers.get(sender)
        if connection is not None:
            change = frozenset((message.topic,))
            known = connection.topics
            self._take_topics(connection, known | change if message.subscribes else known - change)

    def _take_topics(self, connection: Connection, topics: frozenset[int]) -> None:
        if topics != connection.topics:
            connection.topics = topics
            self._by_topic.clear()
