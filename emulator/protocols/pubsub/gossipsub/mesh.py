"""The meshes of a peer: the connected peers of each topic that it sends whole messages to, and they to it.

It follows v1.0, "Mesh Maintenance" and "Control Messages", and v1.1 with backoff, peer exchange, the quota
of outbound connections, scores and opportunistic grafting.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from emulator.contract.protocol import Environment
from emulator.protocols.pubsub.gossipsub.connections import Connections
from emulator.protocols.pubsub.gossipsub.mesh_choice import median, survivors
from emulator.protocols.pubsub.gossipsub.parameters import GossipSubParameters
from emulator.protocols.pubsub.gossipsub.scores import GRAYLISTED, PeerScores
from trellis.v1.gossipsub import TopicGraft, TopicPrune

JOINED: Final = "mesh_joined"
"""The observation that a peer, the subject, came into a mesh; the value is the topic."""
LEFT: Final = "mesh_left"
_SLACK: Final = 1.0
"""The heartbeats for which a peer does not graft another one beyond the backoff (v1.1, "plus some slack"). It
accepts a graft as soon as the backoff is over, since the other one may wait no longer."""


class Meshes:
    """The meshes of one peer by topic. Times are in seconds of trial time."""

    def __init__(
        self,
        environment: Environment,
        parameters: GossipSubParameters,
        connections: Connections,
        scores: PeerScores,
    ) -> None:
        self._environment = environment
        self._connections = connections
        self._scores = scores
        self._extended = parameters.version != "1.0"
        self._degree = int(parameters.degree)
        self._low = int(parameters.degree_low)
        self._high = int(parameters.degree_high)
        self._best = int(parameters.degree_score)
        self._out = int(parameters.degree_out)
        self._backoff = float(parameters.prune_backoff)
        self._leave_backoff = float(parameters.unsubscribe_backoff)
        self._slack = _SLACK * float(parameters.heartbeat)
        self._px_peers = int(parameters.px_peers)
        self._accept_px = float(parameters.score.accept_px_threshold)
        self._graft_threshold = float(parameters.score.opportunistic_graft_threshold)
        self._graft_period = float(parameters.opportunistic_graft_period)
        self._graft_peers = int(parameters.opportunistic_graft_peers)
        self._grafts_at = environment.now + self._graft_period
        self._tells = bool(parameters.tell_mesh)
        self.members: dict[int, dict[int, None]] = {}
        """The members of each topic that this peer subscribes to."""
        self.changed_at: dict[int, float] = {}
        """The time at which each of these meshes changed last."""
        self._backoffs: dict[int, dict[int, float]] = {}
        """The ends of the backoffs that peers were told or told, by topic."""
        environment.handle(TopicGraft, self._on_graft)
        environment.handle(TopicPrune, self._on_prune)

    def of(self, topic: int) -> Iterable[int]:
        """Return the members of a topic's mesh; none if this peer does not subscribe to it."""
        return self.members.get(topic, _NOBODY)

    def join(self, topic: int, fanout: Sequence[int]) -> None:
        """Make a mesh of a topic, first of the peers of its fan-out (JOIN)."""
        if topic in self.members:
            return
        self.members[topic] = {}
        self.changed_at[topic] = self._environment.now
        chosen = [peer for peer in fanout if self._may_graft(topic, peer)][: self._degree]
        for peer in chosen:
            self._graft(topic, peer)
        self._fill(topic, self._degree)

    def leave(self, topic: int) -> None:
        """Give up the mesh of a topic (LEAVE)."""
        for peer in list(self.of(topic)):
            self._prune(topic, peer, backoff=self._leave_backoff, exchange=True)
        self.members.pop(topic, None)
        self.changed_at.pop(topic, None)

    def clear(self) -> None:
        """Forget all meshes, because this peer is down."""
        self.members.clear()
        self.changed_at.clear()

    def drop(self, peer: int) -> None:
        """Remove a peer that is connected no longer from all meshes."""
        for topic in self.members:
            self._remove(topic, peer)

    def heartbeat(self) -> None:
        """Bring all meshes back into their bounds (v1.0, "Mesh Maintenance"; v1.1, "Heartbeat
        Maintenance")."""
        now = self._environment.now
        self._forget_backoffs(now)
        opportune = self._extended and now >= self._grafts_at
        if opportune:
            self._grafts_at = now + self._graft_period
        for topic, mesh in self.members.items():
            for peer in [peer for peer in mesh if self._scores.score(peer) < 0.0]:
                self._prune(topic, peer, backoff=self._backoff, exchange=False)
            if len(mesh) < self._low:
                self._fill(topic, self._degree)
            if len(mesh) > self._high:
                self._shrink(topic)
            if self._extended and len(mesh) >= self._low:
                self._fill_outbound(topic)
            if opportune:
                self._graft_better(topic)

    def _candidates(self, topic: int) -> list[int]:
        """Return the connected peers of a topic that may be grafted, in random order."""
        found = [peer for peer in self._connections.in_topic(topic) if self._may_graft(topic, peer)]
        self._environment.random.shuffle(found)
        return found

    def _may_graft(self, topic: int, peer: int) -> bool:
        return (
            peer not in self.members[topic]
            and not self._backs_off(topic, peer, self._slack)
            and self._scores.score(peer) >= 0.0
        )

    def _fill(self, topic: int, degree: int) -> None:
        missing = degree - len(self.members[topic])
        if missing > 0:
            for peer in self._candidates(topic)[:missing]:
                self._graft(topic, peer)

    def _fill_outbound(self, topic: int) -> None:
        """Graft as many peers as the quota of outbound connections lacks (v1.1)."""
        missing = self._out
        for peer in self.members[topic]:
            if missing <= 0:
                break
            missing -= self._connections.is_outbound(peer)
        if missing > 0:
            outbound = [peer for peer in self._candidates(topic) if self._connections.is_outbound(peer)]
            for peer in outbound[:missing]:
                self._graft(topic, peer)

    def _shrink(self, topic: int) -> None:
        """Prune a mesh that is too large to its degree."""
        members = list(self.members[topic])
        self._environment.random.shuffle(members)
        if self._extended:
            scored = {peer: self._scores.score(peer) for peer in members}
            outbound = {peer for peer in members if self._connections.is_outbound(peer)}
            kept = survivors(
                members, scored, outbound, degree=self._degree, best=self._best, out=self._out,
                draw=self._environment.random,
            )  # fmt: skip
        else:
            kept = members[: self._degree]
        for peer in members:
            if peer not in kept:
                self._prune(topic, peer, backoff=self._backoff, exchange=True)

    def _graft_better(self, topic: int) -> None:
        """Graft peers that are better than the median of a mesh, if that is low (v1.1, "Opportunistic
        Grafting")."""
        mesh = self.members[topic]
        if len(mesh) < 2:
            return
        middle = median([self._scores.score(peer) for peer in mesh])
        if middle < self._graft_threshold:
            better = [peer for peer in self._candidates(topic) if self._scores.score(peer) > middle]
            for peer in better[: self._graft_peers]:
                self._graft(topic, peer)

    def _graft(self, topic: int, peer: int) -> None:
        self._add(topic, peer)
        self._environment.send(peer, TopicGraft(topic))

    def _prune(self, topic: int, peer: int, *, backoff: float, exchange: bool) -> None:
        self._remove(topic, peer)
        self._refuse(topic, peer, backoff=backoff, exchange=exchange)

    def _refuse(self, topic: int, peer: int, *, backoff: float, exchange: bool) -> None:
        """Send PRUNE, and back off from the peer (v1.1)."""
        if not self._extended:
            self._environment.send(peer, TopicPrune(topic))
            return
        told: list[int] = []
        if exchange and self._px_peers and self._scores.score(peer) >= 0.0:
            others = [
                other
                for other in self._connections.in_topic(topic)
                if other != peer and self._scores.score(other) >= 0.0
            ]
            told = self._environment.random.sample(others, min(self._px_peers, len(others)))
        self._back_off(topic, peer, backoff)
        self._environment.send(peer, TopicPrune(topic, told, math.ceil(backoff)))

    def _on_graft(self, sender: int, message: TopicGraft) -> None:
        topic = message.topic
        if self._scores.is_graylisted(sender):
            self._environment.drop(TopicGraft, GRAYLISTED)
            return
        if not self._connections.confirm(sender):
            return
        mesh = self.members.get(topic)
        if mesh is None:
            if not self._extended:  # v1.1 ignores it, because answers would help a flood of such messages
                self._environment.send(sender, TopicPrune(topic))
            return
        if sender in mesh:
            return
        if self._extended and not self._accepts(topic, sender, len(mesh)):
            return
        self._add(topic, sender)

    def _accepts(self, topic: int, sender: int, size: int) -> bool:
        """Return whether a peer may graft this one; else it gets PRUNE (v1.1)."""
        if self._backs_off(topic, sender):
            self._scores.penalise(sender)
            self._refuse(topic, sender, backoff=self._backoff, exchange=False)
            return False
        if self._scores.score(sender) < 0.0:
            self._refuse(topic, sender, backoff=self._backoff, exchange=False)
            return False
        if size >= self._high and not self._connections.is_outbound(sender):
            self._refuse(topic, sender, backoff=self._backoff, exchange=True)
            return False
        return True

    def _on_prune(self, sender: int, message: TopicPrune) -> None:
        topic = message.topic
        if self._scores.is_graylisted(sender):
            self._environment.drop(TopicPrune, GRAYLISTED)
            return
        if topic not in self.members:
            return
        self._remove(topic, sender)
        if not self._extended:
            return
        backoff = float(message.backoff) if message.backoff else self._backoff
        self._back_off(topic, sender, backoff)
        if message.peers and self._scores.score(sender) >= self._accept_px:
            self._connections.introduce(message.peers[: self._px_peers])

    def _add(self, topic: int, peer: int) -> None:
        self.members[topic][peer] = None
        self.changed_at[topic] = self._environment.now
        self._scores.graft(peer, topic, self._environment.now)
        if self._tells:
            self._environment.record(JOINED, topic, subject=peer)

    def _remove(self, topic: int, peer: int) -> None:
        mesh = self.members.get(topic)
        if mesh is not None and peer in mesh:
            del mesh[peer]
            self.changed_at[topic] = self._environment.now
            self._scores.prune(peer, topic)
            if self._tells:
                self._environment.record(LEFT, topic, subject=peer)

    def _backs_off(self, topic: int, peer: int, slack: float = 0.0) -> bool:
        """Return whether the backoff with a peer is not over, or was not until `slack` seconds ago."""
        backoffs = self._backoffs.get(topic)
        until = None if backoffs is None else backoffs.get(peer)
        return until is not None and until + slack > self._environment.now

    def _back_off(self, topic: int, peer: int, seconds: float) -> None:
        """Graft a peer, and let it graft this one, after some seconds only; a longer time that it has already
        stays."""
        backoffs = self._backoffs.setdefault(topic, {})
        backoffs[peer] = max(backoffs.get(peer, 0.0), self._environment.now + seconds)

    def _forget_backoffs(self, now: float) -> None:
        for backoffs in self._backoffs.values():
            for peer in [peer for peer, until in backoffs.items() if until + self._slack <= now]:
                del backoffs[peer]


_NOBODY: Final[dict[int, None]] = {}
