"""Peer scores: what a peer thinks of each other one, by what it saw itself (gossipsub v1.1, "Peer Scoring").

The score of a peer is the weighted sum of P1 to P4 in each topic, capped, and of P5 to P7. Where the text is
silent we follow go-libp2p-pubsub: P3 stays active after a prune, until the next graft; and a peer that
disconnects with a positive score is forgotten, while another one's score is kept.
"""

from __future__ import annotations

from typing import Final

GRAYLISTED: Final = "its sender is graylisted"
"""The reason why a message is dropped."""


class TopicRules:
    """How the behaviour of a peer in a topic counts; the names are those of the specification's table."""

    __slots__ = (
        "first_message_deliveries_cap",
        "first_message_deliveries_decay",
        "first_message_deliveries_weight",
        "invalid_message_deliveries_decay",
        "invalid_message_deliveries_weight",
        "mesh_failure_penalty_decay",
        "mesh_failure_penalty_weight",
        "mesh_message_deliveries_activation",
        "mesh_message_deliveries_cap",
        "mesh_message_deliveries_decay",
        "mesh_message_deliveries_threshold",
        "mesh_message_deliveries_weight",
        "mesh_message_delivery_window",
        "time_in_mesh_cap",
        "time_in_mesh_quantum",
        "time_in_mesh_weight",
        "topic_weight",
    )

    def __init__(
        self,
        *,
        topic_weight: float,
        time_in_mesh_weight: float,
        time_in_mesh_quantum: float,
        time_in_mesh_cap: float,
        first_message_deliveries_weight: float,
        first_message_deliveries_decay: float,
        first_message_deliveries_cap: float,
        mesh_message_deliveries_weight: float,
        mesh_message_deliveries_decay: float,
        mesh_message_deliveries_threshold: float,
        mesh_message_deliveries_cap: float,
        mesh_message_deliveries_activation: float,
        mesh_message_delivery_window: float,
        mesh_failure_penalty_weight: float,
        mesh_failure_penalty_decay: float,
        invalid_message_deliveries_weight: float,
        invalid_message_deliveries_decay: float,
    ) -> None:
        """Quantum, activation and window are in seconds."""
        self.topic_weight = topic_weight
        self.time_in_mesh_weight = time_in_mesh_weight
        self.time_in_mesh_quantum = time_in_mesh_quantum
        self.time_in_mesh_cap = time_in_mesh_cap
        self.first_message_deliveries_weight = first_message_deliveries_weight
        self.first_message_deliveries_decay = first_message_deliveries_decay
        self.first_message_deliveries_cap = first_message_deliveries_cap
        self.mesh_message_deliveries_weight = mesh_message_deliveries_weight
        self.mesh_message_deliveries_decay = mesh_message_deliveries_decay
        self.mesh_message_deliveries_threshold = mesh_message_deliveries_threshold
        self.mesh_message_deliveries_cap = mesh_message_deliveries_cap
        self.mesh_message_deliveries_activation = mesh_message_deliveries_activation
        self.mesh_message_delivery_window = mesh_message_delivery_window
        self.mesh_failure_penalty_weight = mesh_failure_penalty_weight
        self.mesh_failure_penalty_decay = mesh_failure_penalty_decay
        self.invalid_message_deliveries_weight = invalid_message_deliveries_weight
        self.invalid_message_deliveries_decay = invalid_message_deliveries_decay


class ScoreRules:
    """How the behaviour of a peer as a whole counts."""

    __slots__ = (
        "app_specific_weight",
        "behaviour_penalty_decay",
        "behaviour_penalty_threshold",
        "behaviour_penalty_weight",
        "decay_to_zero",
        "graylist_threshold",
        "ip_colocation_factor_threshold",
        "ip_colocation_factor_weight",
        "retain_score",
        "topic",
        "topic_score_cap",
    )

    def __init__(
        self,
        topic: TopicRules,
        *,
        topic_score_cap: float,
        app_specific_weight: float,
        graylist_threshold: float,
        ip_colocation_factor_weight: float,
        ip_colocation_factor_threshold: int,
        behaviour_penalty_weight: float,
        behaviour_penalty_threshold: float,
        behaviour_penalty_decay: float,
        decay_to_zero: float,
        retain_score: float,
    ) -> None:
        """`topic_score_cap` is 0 for no cap; `retain_score` is in seconds."""
        self.topic = topic
        self.topic_score_cap = topic_score_cap
        self.app_specific_weight = app_specific_weight
        self.graylist_threshold = graylist_threshold
        self.ip_colocation_factor_weight = ip_colocation_factor_weight
        self.ip_colocation_factor_threshold = ip_colocation_factor_threshold
        self.behaviour_penalty_weight = behaviour_penalty_weight
        self.behaviour_penalty_threshold = behaviour_penalty_threshold
        self.behaviour_penalty_decay = behaviour_penalty_decay
        self.decay_to_zero = decay_to_zero
        self.retain_score = retain_score


class _InTopic:
    """The counters of one peer in one topic."""

    __slots__ = ("active", "failures", "first", "grafted_at", "in_mesh", "invalid", "mesh", "mesh_time")

    def __init__(self) -> None:
        self.in_mesh = False
        self.grafted_at = 0.0
        self.mesh_time = 0.0
        """The time in the mesh at the last decay, in seconds."""
        self.active = False
        """This is true if the peer was in the mesh for longer than the activation of P3."""
        self.first = 0.0
        self.mesh = 0.0
        self.failures = 0.0
        self.invalid = 0.0

    def is_idle(self) -> bool:
        """Return whether time changes nothing: the peer is outside of the mesh, and all counters are 0."""
        counted = self.first != 0.0 or self.mesh != 0.0 or self.failures != 0.0 or self.invalid != 0.0
        return not self.in_mesh and not counted

    def deficit(self, rules: TopicRules) -> float:
        """Return the square of what lacks of the expected deliveries."""
        if self.active and self.mesh < rules.mesh_message_deliveries_threshold:
            lacking = rules.mesh_message_deliveries_threshold - self.mesh
            return lacking * lacking
        return 0.0

    def score(self, rules: TopicRules) -> float:
        """Return the weighted sum of P1 to P4."""
        total = self.first * rules.first_message_deliveries_weight
        if self.in_mesh:
            quanta = min(self.mesh_time // rules.time_in_mesh_quantum, rules.time_in_mesh_cap)
            total += quanta * rules.time_in_mesh_weight
        total += self.deficit(rules) * rules.mesh_message_deliveries_weight
        total += self.failures * rules.mesh_failure_penalty_weight
        total += self.invalid * self.invalid * rules.invalid_message_deliveries_weight
        return total * rules.topic_weight


class _Scored:
    """What is known of one peer."""

    __slots__ = (
        "address",
        "application",
        "behaviour",
        "counted",
        "forget_at",
        "is_known",
        "score",
        "topics",
    )

    def __init__(self, address: int) -> None:
        self.address = address
        self.application = 0.0
        self.behaviour = 0.0
        self.topics: dict[int, _InTopic] = {}
        self.counted: list[_InTopic] = []
        """The counters of all topics, in the order in which they came."""
        self.score = 0.0
        self.is_known = False
        """This is true if `score` is the score; what counts for the score makes it false."""
        self.forget_at = -1.0
        """The time at which a peer that has disconnected is forgotten (s); negative while it is connected."""


class PeerScores:
    """The scores that one peer gives to others. Times are in seconds of trial time."""

    def __init__(self, rules: ScoreRules, enabled: bool = True) -> None:
        """Without `enabled`, as in v1.0, nothing is counted and all scores are 0."""
        self._rules = rules
        self._enabled = enabled
        self._peers: dict[int, _Scored] = {}
        self._at_address: dict[int, int] = {}
        """The number of known peers at each address."""

    def connect(self, peer: int, address: int, application: float = 0.0) -> None:
        """Begin or go on to score a peer; `application` is what the application thinks of it (P5)."""
        if not self._enabled:
            return
        scored = self._peers.get(peer)
        if scored is None:
            scored = self._peers[peer] = _Scored(address)
            self._count_at(address, 1)
        scored.forget_at = -1.0
        scored.application = application
        scored.is_known = False

    def disconnect(self, peer: int, now: float) -> None:
        """Note that a peer went; its score is kept for a while unless it is positive."""
        scored = self._peers.get(peer)
        if scored is None:
            return
        if self.score(peer) > 0.0:
            self._forget(peer)
            return
        scored.is_known = False
        for topic in scored.counted:
            topic.first = 0.0
            if topic.in_mesh:
                topic.failures += topic.deficit(self._rules.topic)
                topic.in_mesh = False
        scored.forget_at = now + self._rules.retain_score

    def graft(self, peer: int, topic: int, now: float) -> None:
        """Note that a peer joined the mesh of a topic."""
        counters = self._in_topic(peer, topic)
        if counters is not None:
            counters.in_mesh = True
            counters.grafted_at = now
            counters.mesh_time = 0.0
            counters.active = False

    def prune(self, peer: int, topic: int) -> None:
        """Note that a peer left the mesh of a topic; what it lacked then counts as a failure (P3b)."""
        counters = self._in_topic(peer, topic)
        if counters is not None and counters.in_mesh:
            counters.failures += counters.deficit(self._rules.topic)
            counters.in_mesh = False

    def delivered_first(self, peer: int, topic: int) -> None:
        """Count a valid message that came first from this peer (P2, and P3 in the mesh)."""
        counters = self._in_topic(peer, topic)
        if counters is not None:
            rules = self._rules.topic
            counters.first = min(counters.first + 1.0, rules.first_message_deliveries_cap)
            if counters.in_mesh:
                counters.mesh = min(counters.mesh + 1.0, rules.mesh_message_deliveries_cap)

    def delivered_again(self, peer: int, topic: int, after: float) -> None:
        """Count a copy of a valid message that came `after` seconds from its validation, if near-first."""
        rules = self._rules.topic
        if after > rules.mesh_message_delivery_window:
            return
        counters = self._in_topic(peer, topic)
        if counters is not None and counters.in_mesh:
            counters.mesh = min(counters.mesh + 1.0, rules.mesh_message_deliveries_cap)

    def delivered_invalid(self, peer: int, topic: int) -> None:
        """Count a message that failed validation (P4)."""
        counters = self._in_topic(peer, topic)
        if counters is not None:
            counters.invalid += 1.0

    def penalise(self, peer: int, count: int = 1) -> None:
        """Count misbehaviour of a peer (P7)."""
        scored = self._peers.get(peer)
        if scored is not None:
            scored.behaviour += count
            scored.is_known = False

    def decay(self, now: float) -> None:
        """Let all counters decay, and forget peers that have been gone for long; once each decay interval."""
        rules = self._rules
        gone = False
        for scored in self._peers.values():
            if scored.forget_at >= 0.0:
                gone = gone or now > scored.forget_at
                continue
            for topic in scored.counted:
                if not topic.is_idle():
                    self._decay_topic(topic, now)
                    scored.is_known = False
            if scored.behaviour != 0.0:
                scored.behaviour = self._decayed(scored.behaviour, rules.behaviour_penalty_decay)
                scored.is_known = False
        if gone:
            for peer in [peer for peer, scored in self._peers.items() if 0.0 <= scored.forget_at < now]:
                self._forget(peer)

    def score(self, peer: int) -> float:
        """Return the score of a peer; 0 for one that is not known."""
        scored = self._peers.get(peer)
        if scored is None:
            return 0.0
        if not scored.is_known:
            scored.score = self._sum(scored)
            scored.is_known = True
        return scored.score

    def is_graylisted(self, peer: int) -> bool:
        """Return whether all that the peer sends is ignored."""
        return self.score(peer) < self._rules.graylist_threshold

    def _sum(self, scored: _Scored) -> float:
        rules = self._rules
        total = 0.0
        for topic in scored.counted:
            total += topic.score(rules.topic)
        if rules.topic_score_cap > 0.0 and total > rules.topic_score_cap:
            total = rules.topic_score_cap
        total += scored.application * rules.app_specific_weight
        surplus = self._at_address[scored.address] - rules.ip_colocation_factor_threshold
        if surplus > 0:
            total += surplus * surplus * rules.ip_colocation_factor_weight
        excess = scored.behaviour - rules.behaviour_penalty_threshold
        if excess > 0.0:
            total += excess * excess * rules.behaviour_penalty_weight
        return total

    def _in_topic(self, peer: int, topic: int) -> _InTopic | None:
        """Return the counters of a peer, which are about to change, None if the peer is not known."""
        scored = self._peers.get(peer)
        if scored is None:
            return None
        scored.is_known = False
        counters = scored.topics.get(topic)
        if counters is None:
            counters = scored.topics[topic] = _InTopic()
            scored.counted.append(counters)
        return counters

    def _decay_topic(self, topic: _InTopic, now: float) -> None:
        rules = self._rules.topic
        topic.first = self._decayed(topic.first, rules.first_message_deliveries_decay)
        topic.mesh = self._decayed(topic.mesh, rules.mesh_message_deliveries_decay)
        topic.failures = self._decayed(topic.failures, rules.mesh_failure_penalty_decay)
        topic.invalid = self._decayed(topic.invalid, rules.invalid_message_deliveries_decay)
        if topic.in_mesh:
            topic.mesh_time = now - topic.grafted_at
            topic.active = topic.active or topic.mesh_time > rules.mesh_message_deliveries_activation

    def _decayed(self, counter: float, decay: float) -> float:
        counter *= decay
        return 0.0 if counter < self._rules.decay_to_zero else counter

    def _forget(self, peer: int) -> None:
        self._count_at(self._peers.pop(peer).address, -1)

    def _count_at(self, address: int, change: int) -> None:
        """Count a peer more or less at an address, which changes the scores of all others there (P6)."""
        count = self._at_address[address] = self._at_address.get(address, 0) + change
        if not count:
            del self._at_address[address]
            return
        for scored in self._peers.values():
            if scored.address == address:
                scored.is_known = False
