"""GossipSub: publish/subscribe over meshes of connected peers, with gossip to all others (libp2p).

The specifications of gossipsub v1.0, v1.1 and v1.2 (github.com/libp2p/specs, pubsub/gossipsub). This module
says what a peer does with a message ("Message Processing"), its own and those of others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from emulator.contract.invariants import Invariant
from emulator.contract.protocol import Environment, Event, Gauge, Interest, PubSub
from emulator.contract.system import System
from emulator.protocols.gossip.view_invariant import VIEWS
from emulator.protocols.pubsub.gossipsub.connections import ConnectionListener, Connections
from emulator.protocols.pubsub.gossipsub.dont_want import DontWant
from emulator.protocols.pubsub.gossipsub.fanout import Fanout
from emulator.protocols.pubsub.gossipsub.gossip import Gossip
from emulator.protocols.pubsub.gossipsub.mesh import Meshes
from emulator.protocols.pubsub.gossipsub.message_cache import MessageCache
from emulator.protocols.pubsub.gossipsub.outbox import Outbox
from emulator.protocols.pubsub.gossipsub.parameters import GossipSubParameters
from emulator.protocols.pubsub.gossipsub.scores import GRAYLISTED, PeerScores
from emulator.protocols.pubsub.gossipsub.seen import Arrival, Seen
from emulator.protocols.pubsub.gossipsub.signature import sign
from emulator.protocols.pubsub.gossipsub.topic_discovery import TopicDiscovery
from emulator.protocols.pubsub.shared.topics import topic_interest
from trellis.v1.gossipsub import IDontWant, TopicMessage


@mypyc_attr(allow_interpreted_subclasses=True)
class GossipSub(PubSub, ConnectionListener):
    """One peer of GossipSub."""

    GAUGES: ClassVar[Mapping[str, Gauge]] = {
        "mesh_degree": Gauge("Members of a mesh, mean over the peer's topics.", "peers"),
        "mesh_outbound": Gauge("Of these, those that the peer connected to itself.", "peers"),
        "connections": Gauge("Connected peers.", "peers"),
        "negative_scores": Gauge("Connected peers with a score below 0.", "peers", "lower"),
    }

    def __init__(self, environment: Environment, parameters: GossipSubParameters) -> None:
        super().__init__(environment)
        self._extended = parameters.version != "1.0"
        self._spares = parameters.version == "1.2"
        self._heartbeat_period = float(parameters.heartbeat)
        self._decay_interval = float(parameters.score.decay_interval)
        self._validation = float(parameters.validation)
        self._floods = self._extended and bool(parameters.flood_publish)
        self._publish_threshold = float(parameters.score.publish_threshold)
        self._large = int(parameters.idontwant_threshold)
        self._application_scores: dict[int, float] = dict(parameters.application_scores)
        self._scores = PeerScores(parameters.score.rules(), self._extended)
        self.connections = Connections(environment, parameters, self)
        self.meshes = Meshes(environment, parameters, self.connections, self._scores)
        self._discovery: TopicDiscovery | None = None
        if parameters.topic_discovery:
            self._discovery = TopicDiscovery(environment, parameters, self.connections, self.meshes)
        self._fanout = Fanout(
            self.connections,
            self._scores,
            environment.random,
            degree=int(parameters.degree),
            ttl=float(parameters.fanout_ttl),
            least=self._publish_threshold,
        )
        self._seen = Seen(float(parameters.seen_ttl))
        self._cache = MessageCache(int(parameters.mcache_len), int(parameters.mcache_gossip))
        self._gossip = Gossip(
            environment,
            parameters,
            self.connections,
            self._scores,
            self._cache,
            self._seen,
            self.meshes.members,
            self._hand_to_network,
        )
        self._dont_want = DontWant(
            most=int(parameters.max_idontwant_messages), kept=int(parameters.idontwant_ttl)
        )
        self._outbox: Outbox | None = None
        if parameters.uplink:
            self._outbox = Outbox(environment, float(parameters.uplink), self._dont_want.spares)
        environment.handle(TopicMessage, self._on_message)
        environment.handle(IDontWant, self._on_idontwant)

    def start(self, contacts: Sequence[int]) -> None:
        self.connections.start(contacts)
        if self._discovery is not None:
            self._discovery.start()
        self.environment.every(self._heartbeat_period, self._heartbeat)
        if self._extended:
            self.environment.every(self._decay_interval, self._decay)

    def stop(self, graceful: bool) -> None:
        self.connections.stop(graceful)
        self.meshes.clear()
        if self._outbox is not None:
            self._outbox.clear()

    def on_unreachable(self, peer: int) -> None:
        self.connections.drop(peer)

    def connected(self, peer: int) -> None:
        self._scores.connect(peer, peer, self._application_scores.get(peer, 0.0))

    def disconnected(self, peer: int) -> None:
        self._scores.disconnect(peer, self.environment.now)  # with what it has for its time in meshes
        self.meshes.drop(peer)
        self._fanout.drop(peer)
        if self._outbox is not None:
            self._outbox.drop(peer)

    def subscribe(self, interest: Interest) -> None:
        topic = topic_interest(interest).topic
        if not self._subscribes(topic):
            self.connections.announce(topic, True)
            self.meshes.join(topic, self._fanout.take(topic))

    def unsubscribe(self, interest: Interest) -> None:
        topic = topic_interest(interest).topic
        if self._subscribes(topic):
            self.connections.announce(topic, False)
            self.meshes.leave(topic)

    def publish(self, event: Event) -> None:
        topic = event.topic
        if topic is None:
            raise TypeError("this system knows topics; the event has none")
        me, now = self.environment.peer, self.environment.now
        signature = sign(event.number, topic, event.publisher, event.payload)
        message = TopicMessage(event.number, topic, event.publisher, 1, event.payload, signature)
        arrival = self._seen.add(event.number, me, now)
        arrival.valid_at = now
        self._cache.put(message)
        for peer in self._audience(topic):
            self._send(peer, message)

    def hand_over(self, message: TopicMessage) -> None:
        """Deliver the event of a message."""
        self.environment.deliver(
            Event(message.event, message.publisher, message.topic, payload=message.payload, hops=message.hops)
        )

    def gauges(self) -> dict[str, float]:
        meshes = self.meshes.members.values()
        entries = [peer for mesh in meshes for peer in mesh]
        outbound = [peer for peer in entries if self.connections.is_outbound(peer)]
        topics = max(1, len(meshes))
        negative = [peer for peer in self.connections.peers if self._scores.score(peer) < 0.0]
        return {
            "mesh_degree": len(entries) / topics,
            "mesh_outbound": len(outbound) / topics,
            "connections": float(len(self.connections.peers)),
            "negative_scores": float(len(negative)),
        }

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        mesh = dict.fromkeys(peer for members in self.meshes.members.values() for peer in members)
        return {"connection": list(self.connections.peers), "mesh": list(mesh)}

    def _subscribes(self, topic: int) -> bool:
        return topic in self.meshes.members

    def _audience(self, topic: int) -> list[int]:
        """Return whom an own message goes to (v1.0, "Message Processing"; v1.1, "Flood Publishing")."""
        if self._floods:
            return [
                peer
                for peer in self.connections.in_topic(topic)
                if self._scores.score(peer) >= self._publish_threshold
            ]
        if self._subscribes(topic):
            return list(self.meshes.of(topic))
        return self._fanout.publish(topic, self.environment.now)

    def _heartbeat(self) -> None:
        now = self.environment.now
        self._gossip.heartbeat()
        self._dont_want.heartbeat()
        self._seen.forget(now)
        self.meshes.heartbeat()
        self._fanout.heartbeat(now)
        if len(self._cache):
            for topic, members in self.meshes.members.items():
                self._gossip.emit(topic, members)
            for topic in self._fanout.topics():
                self._gossip.emit(topic, self._fanout.peers(topic))
            self._cache.shift()

    def _decay(self) -> None:
        self._scores.decay(self.environment.now)

    def _on_message(self, sender: int, message: TopicMessage) -> None:
        if self._scores.is_graylisted(sender):
            self.environment.drop(TopicMessage, GRAYLISTED)
            return
        if not self._subscribes(message.topic):
            self.environment.drop(TopicMessage, "this peer does not subscribe to its topic")
            return
        now = self.environment.now
        arrival = self._seen.get(message.event)
        if arrival is not None:
            self._came_again(sender, message, arrival, now)
            return
        if message.signature != sign(message.event, message.topic, message.publisher, message.payload):
            self._scores.delivered_invalid(sender, message.topic)
            self.environment.drop(TopicMessage, "its signature is wrong")
            return
        arrival = self._seen.add(message.event, sender, now)
        self._gossip.arrived(message.event)
        if self._spares and len(message.payload) >= self._large:
            told = IDontWant(message.event)
            for peer in self.meshes.of(message.topic):
                if peer != sender:
                    self.environment.send(peer, told)
        if self._validation > 0.0:
            waiting = arrival
            self.environment.set_timer(self._validation, lambda: self._accept(message, waiting))
        else:
            self._accept(message, arrival)

    def _came_again(self, sender: int, message: TopicMessage, arrival: Arrival, now: float) -> None:
        """Count a further copy of a message for its sender's score; each sender counts once."""
        if sender == arrival.first or sender in arrival.others:
            return
        arrival.others.append(sender)
        if arrival.valid_at >= 0.0:
            self._scores.delivered_again(sender, message.topic, now - arrival.valid_at)

    def _accept(self, message: TopicMessage, arrival: Arrival) -> None:
        """Accept a message that its application has looked at (v1.1, "Extended Validators")."""
        topic = message.topic
        arrival.valid_at = self.environment.now
        self._scores.delivered_first(arrival.first, topic)
        for peer in arrival.others:
            self._scores.delivered_again(peer, topic, 0.0)
        if self._subscribes(topic):
            self._pass_on(message, arrival.first)

    def _pass_on(self, message: TopicMessage, sender: int) -> None:
        """Hand a valid message over, and pass it on in the mesh."""
        self.hand_over(message)
        onward = TopicMessage(
            message.event,
            message.topic,
            message.publisher,
            message.hops + 1,
            message.payload,
            message.signature,
        )
        self._cache.put(onward)
        for peer in self.meshes.of(message.topic):
            if peer != sender and peer != message.publisher:
                self._send(peer, onward)

    def _send(self, peer: int, message: TopicMessage) -> None:
        """Send a message to a peer that does not say that it has it."""
        if not (self._spares and self._dont_want.spares(peer, message.event)):
            self._hand_to_network(peer, message)

    def _hand_to_network(self, peer: int, message: TopicMessage) -> None:
        """Send a message, behind other large ones if it is large and the peer's own link is known."""
        if self._outbox is not None and len(message.payload) >= self._large:
            self._outbox.send(peer, message)
        else:
            self.environment.send(peer, message)

    def _on_idontwant(self, sender: int, message: IDontWant) -> None:
        if self._scores.is_graylisted(sender):
            self.environment.drop(IDontWant, GRAYLISTED)
        elif self._spares and not self._dont_want.add(sender, message.event):
            self.environment.drop(IDontWant, "its sender sent too many in a heartbeat")


_MESHES: Final = Invariant(
    "mesh_links_have_two_ends",
    "Who is in a peer's mesh has that peer in its own, between connected peers, where neither mesh has "
    'changed for 2 s (gossipsub v1.0, "Mesh Maintenance").',
    "emulator.protocols.pubsub.gossipsub.mesh_invariant:broken",
)
GOSSIPSUB: Final = System(
    name="gossipsub",
    title="GossipSub, meshes of topics with gossip",
    paper="libp2p: gossipsub v1.0, v1.1, v1.2; Vyzovitis et al.: GossipSub, 2020",
    parameters=GossipSubParameters,
    create=GossipSub,
    misfits="emulator.protocols.pubsub.gossipsub.parameters:misfits",
    invariants=(VIEWS, _MESHES),
)
