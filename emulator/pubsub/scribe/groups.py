"""What the root knows of a group, and its replicas (Scribe, JSAC 2002, section III.C).

The paper keeps the creator and an access control list at the root, and copies them to the k closest
peers; here is no access control. The tree is no part of it: the root's children join anew.
"""

from __future__ import annotations

from google.protobuf.message import Message
from trellis.v1.scribe_pb2 import RootReplica

from emulator.identifiers import of_topic
from emulator.protocol import Environment, Handler, Overlay

_REMEMBERED_GROUPS = 10_000


class Groups:
    """The groups that this peer is the root of, or may become."""

    def __init__(self, environment: Environment, overlay: Overlay, replicas: int) -> None:
        """`replicas` is the paper's k."""
        self._environment = environment
        self._overlay = overlay
        self._replicas = replicas
        self._creators: dict[int, int] = {}
        self._told: dict[int, RootReplica] = {}
        """What each of the k closest knows."""
        self._routes_version = -1
        self._changed = False

    def handlers(self) -> dict[type[Message], Handler]:
        return {RootReplica: self._on_replica}

    def create(self, topic: int, creator: int) -> None:
        """At the root: the group exists from now on. Who creates it again changes nothing."""
        if topic not in self._creators:
            self._remember(topic, creator)
            self._changed = True

    def creator(self, topic: int) -> int | None:
        """Who created the group, if this peer is its root or a replica; None if it does not know it."""
        return self._creators.get(topic)

    def replicate(self) -> None:
        """A period: tell the k closest peers what they do not know yet."""
        if not self._changed and self._routes_version == self._overlay.routes_version:
            return
        self._changed = False
        self._routes_version = self._overlay.routes_version
        topics = [topic for topic in self._creators if self._overlay.next_hop(of_topic(topic)) is None]
        replica = RootReplica(topics=topics, creators=[self._creators[topic] for topic in topics])
        closest = self._overlay.neighbour_set(self._replicas)
        for peer in closest:
            if topics and self._told.get(peer) != replica:
                self._environment.send(peer, replica)
        self._told = dict.fromkeys(closest, replica)

    def _on_replica(self, sender: int, message: RootReplica) -> None:
        for topic, creator in zip(message.topics, message.creators, strict=True):
            if topic not in self._creators:
                self._remember(topic, creator)
                # It may be this peer's already, if it is the closest now.
                self._changed = True

    def _remember(self, topic: int, creator: int) -> None:
        self._creators[topic] = creator
        if len(self._creators) > _REMEMBERED_GROUPS:
            del self._creators[next(iter(self._creators))]
