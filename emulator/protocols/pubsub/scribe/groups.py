"""The root's knowledge of a group, and its replicas (Scribe, JSAC 2002, section III.C).

The paper keeps the creator and an access control list at the root, and copies them to the k closest peers.
This implementation has no access control. The tree is not replicated: the root's children join anew.
"""

from __future__ import annotations

from typing import Final

from emulator.contract.identifiers import hash_of_topic
from emulator.contract.protocol import Environment, Overlay
from trellis.v1.scribe import RootReplica

_REMEMBERED_GROUPS: Final = 10_000


class Groups:
    """The groups of which this peer is the root, or may become it."""

    def __init__(self, environment: Environment, overlay: Overlay, replicas: int) -> None:
        """`replicas` is the paper's k."""
        self._environment = environment
        self._overlay = overlay
        self._replicas = replicas
        self._creators: dict[int, int] = {}
        self._told: dict[int, RootReplica] = {}
        """The replica that was last sent to each of the k closest peers."""
        self._routes_version = -1
        self._changed = False
        environment.handle(RootReplica, self._on_replica)

    def create(self, topic: int, creator: int) -> None:
        """Note at the root that the group exists from now on. A second creation changes nothing."""
        if topic not in self._creators:
            self._remember(topic, creator)
            self._changed = True

    def creator(self, topic: int) -> int | None:
        """Return the group's creator if this peer is its root or a replica; None if it is unknown."""
        return self._creators.get(topic)

    def forget(self, peer: int) -> None:
        """Tell `peer`, which has come or gone, everything anew if it is one of the k closest."""
        if self._told.pop(peer, None) is not None:
            self._changed = True

    def replicate(self) -> None:
        """Tell the k closest peers what they were not told yet, once a period."""
        if not self._changed and self._routes_version == self._overlay.routes_version:
            return
        self._changed = False
        self._routes_version = self._overlay.routes_version
        topics = [topic for topic in self._creators if self._overlay.next_hop(hash_of_topic(topic)) is None]
        replica = RootReplica(topics=topics, creators=[self._creators[topic] for topic in topics])
        closest = [contact.peer for contact in self._overlay.neighbour_set(self._replicas)]
        for peer in closest:
            if topics and self._told.get(peer) != replica:
                self._environment.send(peer, replica)
        self._told = dict.fromkeys(closest, replica)

    def _on_replica(self, sender: int, message: RootReplica) -> None:
        if len(message.topics) != len(message.creators):
            self._environment.drop(RootReplica, "its lists do not fit together")
            return
        for topic, creator in zip(message.topics, message.creators, strict=True):
            if topic not in self._creators:
                self._remember(topic, creator)
                # This peer passes the group on if it is the closest to the topic by now.
                self._changed = True

    def _remember(self, topic: int, creator: int) -> None:
        self._creators[topic] = creator
        if len(self._creators) > _REMEMBERED_GROUPS:
            del self._creators[next(iter(self._creators))]
