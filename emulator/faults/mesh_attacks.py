"""The attack on GossipSub's meshes: Sybils that join them, graft a target, and withhold messages.

Vyzovitis et al. (GossipSub, 2020) have Sybils that drop all messages, an eclipse of one peer, a censor of
one publisher, and both kinds of a surprise (cold boot and covert flash), which are times at which it begins.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import ClassVar, Literal

from pydantic import Field

from emulator.contract.attack import Attack, AttackerEnvironment, AttackModel, Sending
from emulator.files.quantities import Duration
from emulator.messages.message import Message
from trellis.v1.gossipsub import ConnectionAlive, ConnectionEnd, ConnectionRequest, TopicGraft, TopicMessage


class MeshSybil(AttackModel):
    """The attack of a peer that is in meshes, tells of messages, and sends none of those of others."""

    systems: ClassVar[Collection[str]] = ("gossipsub", "gossipsub-broadcast")

    kind: Literal["mesh-sybil"] = "mesh-sybil"
    publisher: int | None = Field(
        None, ge=0, description="the publisher whose messages it withholds; left out: all"
    )
    target: int | None = Field(
        None, ge=0, description="the peer that it connects to and grafts, however often that prunes it"
    )
    topic: int = Field(0, ge=0, description="the topic in which it grafts the target")
    every: Duration = Field(1.0, gt=0, le=86_400, description="time between two grafts of the target")

    def about(self) -> Collection[int]:
        """Return the publisher and the target."""
        return {peer for peer in (self.publisher, self.target) if peer is not None}

    def topics(self) -> Collection[int]:
        """Return the topic in which the target is grafted; the default counts only if there is a target."""
        return (self.topic,) if self.target is not None or self.topic else ()

    def begin(self, environment: AttackerEnvironment) -> Attack:
        return _MeshSybil(environment, self)


class _MeshSybil(Attack):
    def __init__(self, environment: AttackerEnvironment, model: MeshSybil) -> None:
        super().__init__(environment)
        self._publisher = -1 if model.publisher is None else model.publisher
        self._target = -1 if model.target is None else model.target
        self._topic = model.topic
        self._every = model.every
        self._here = False
        """This is true once messages have shown that this is the channel of GossipSub."""
        self._is_connected = False

    def sends(self, sending: Sending, send: Callable[[Message], None]) -> bool:
        message = sending.message
        self._look_at(message)
        if isinstance(message, ConnectionEnd) and sending.receiver == self._target:
            return False
        if isinstance(message, TopicMessage) and not sending.own:
            return self._publisher not in (-1, message.publisher)
        return True

    def receives(self, sender: int, message: Message, request: bool) -> bool:
        self._look_at(message)
        if isinstance(message, ConnectionEnd) and sender == self._target:
            self._is_connected = False
        return True

    def _look_at(self, message: Message) -> None:
        """Begin to graft the target once the peer's protocol speaks of topics on this channel."""
        if not self._here and isinstance(message, (ConnectionAlive, ConnectionRequest)):
            self._here = True
            if self._target not in (-1, self.environment.peer):
                self.environment.every(self._every, self._graft)

    def _graft(self) -> None:
        if not self._is_connected:
            self._is_connected = True
            self.environment.send(self._target, ConnectionRequest([self._topic]))
        self.environment.send(self._target, ConnectionAlive([self._topic]))
        self.environment.send(self._target, TopicGraft(self._topic))
