"""Interest-aware membership: a sample of the interests of each topic's subscribers (Magnet, section 3.4).

The subscribers of a topic, and the peers between them and its home, form a tree over the control overlay,
made and kept as Scribe's. In each round samples go up the tree, cut to k interests by a uniform choice; the
home sends what it has at the end down to all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from emulator.protocol import Contact, Environment, Message, Overlay
from emulator.pubsub.scribe.parameters import ScribeParameters
from emulator.pubsub.scribe.trees import Trees
from trellis.v1.magnet import InterestSample, InterestsDown, InterestsUp
from trellis.v1.overlay import Profile
from trellis.v1.scribe import TreeJoin

_NOBODY: Final = -1
_HAND_DOWN: Final = 1.0
"""Seconds between two looks at who has not got the present view, such as a new child."""


class InterestMembership:
    """One peer's part in it."""

    def __init__(
        self,
        environment: Environment,
        control: Overlay,
        parameters: ScribeParameters,
        samples: int,
        period: float,
        wanted: Collection[int],
    ) -> None:
        """`samples` is k, `period` the length of a round (s), `wanted` the topics of this peer's own."""
        self._environment = environment
        self._samples = samples
        self._period = period
        self._wanted = wanted
        self._own: Profile | None = None
        self._below: dict[int, dict[int, InterestSample]] = {}
        """By topic and child: what the child sent last."""
        self._changed: set[int] = set()
        """Topics whose sample is to be taken anew in the next round."""
        self._sample: dict[int, InterestSample] = {}
        self._sent_up: dict[int, tuple[int, InterestSample]] = {}
        """By topic: the parent and what it was sent last."""
        self._sent_down: dict[int, dict[int, InterestSample]] = {}
        """By child and topic: the view that it was sent last."""
        self.views: dict[int, InterestSample] = {}
        """By topic, as the home told them last; one object for all peers of a host."""
        self.sent = 0
        """Samples and views that this peer has sent."""
        self._trees = Trees(environment, control, parameters, wanted)
        self._seen_changes = -1
        control.carry(self, TreeJoin)
        environment.handle(InterestsUp, self._on_samples)
        environment.handle(InterestsDown, self._on_views)

    def start(self) -> None:
        """Begin the rounds. Call it when the control overlay was started."""
        self._trees.start()
        self._environment.every(self._period, self._round)
        self._environment.every(_HAND_DOWN, self._look_down)

    def stop(self, graceful: bool) -> None:
        """Leave all trees."""
        self._trees.stop(graceful)

    def join(self, topic: int) -> None:
        """Ask for the view of a topic."""
        self._trees.join(topic)
        self._changed.add(topic)

    def leave(self, topic: int) -> None:
        """Do without the view of a topic that is not wanted any more."""
        self.views.pop(topic, None)
        self._changed.add(topic)
        self._trees.prune([topic])

    def tell(self, own: Profile | None) -> None:
        """Take this for the peer's interests and place; None while it has no place."""
        self._own = own
        self._changed.update(self._wanted)

    def complete(self, topics: Iterable[int]) -> bool:
        """Whether the views of these topics have come."""
        return all(topic in self.views for topic in topics)

    def known(self) -> dict[int, Profile]:
        """The other peers in all views of this peer's topics: view(p). A peer is not in its own view."""
        found: dict[int, Profile] = {}
        for topic in self._wanted:
            view = self.views.get(topic)
            if view is not None:
                for profile in view.interests:
                    found[profile.peer] = profile
        found.pop(self._environment.peer, None)
        return found

    def subscriber(self, topic: int) -> int:
        """A random other subscriber of the topic in its view, or -1."""
        view = self.views.get(topic)
        if view is None:
            return _NOBODY
        own = self._environment.peer
        others = [profile.peer for profile in view.interests if profile.peer != own]
        return others[self._environment.random.randrange(len(others))] if others else _NOBODY

    def on_unreachable(self, peer: int) -> None:
        """Do without `peer`; the control overlay was told before."""
        self._trees.on_unreachable(peer)

    def forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        """End a join at the first peer that it comes to (the control overlay's upcall)."""
        assert isinstance(message, TreeJoin)
        return self._trees.forward(message, next_hop)

    def deliver(self, key: int, message: Message, origin: Contact, hops: int) -> None:
        """Be the home of a topic."""
        assert isinstance(message, TreeJoin)
        self._changed.add(message.topic)
        self._trees.deliver(message)

    def neighbour_changed(self, contact: Contact, joined: bool) -> None:
        """A neighbour in the control overlay came or went."""
        if joined:
            self._trees.neighbour_joined(contact)

    def _round(self) -> None:
        """Take the samples that changed anew, and send them up; the home's are the views."""
        trees = self._trees
        up: dict[int, list[InterestSample]] = {}
        self._forget_others()
        for topic in sorted(trees.topics()):
            parent = trees.parents.get(topic, _NOBODY)
            if topic in self._changed or topic not in self._sample:
                sample = self._sample[topic] = self._take_sample(topic, trees.children.get(topic, ()))
                if topic in trees.roots:
                    self.views[topic] = sample
            elif topic in trees.roots and topic not in self.views:
                self.views[topic] = self._sample[topic]
            told = (parent, self._sample[topic])
            if parent != _NOBODY and self._sent_up.get(topic) != told:
                self._sent_up[topic] = told
                up.setdefault(parent, []).append(told[1])
        self._changed.clear()
        for parent, samples in up.items():
            self.sent += 1
            self._environment.send(parent, InterestsUp(samples))
        self._hand_down(None)

    def _forget_others(self) -> None:
        """Drop what was said of topics, or by children, that are no more."""
        trees = self._trees
        topics = trees.topics()
        for topic in [topic for topic in self._below if topic not in topics]:
            del self._below[topic]
        for topic, of in self._below.items():
            children = trees.children.get(topic, ())
            for child in [child for child in of if child not in children]:
                del of[child]
                self._changed.add(topic)
        for topic in [topic for topic in self._sample if topic not in topics]:
            del self._sample[topic]
            self._sent_up.pop(topic, None)
            self.views.pop(topic, None)

    def _take_sample(self, topic: int, children: Iterable[int]) -> InterestSample:
        """The interests from below and this peer's own; k of them if they are more."""
        found: dict[int, Profile] = {}
        of = self._below.get(topic, {})
        for child in sorted(children):
            said = of.get(child)
            if said is not None:
                for profile in said.interests:
                    found[profile.peer] = profile
        found.pop(self._environment.peer, None)
        if self._own is not None and topic in self._wanted:
            found[self._own.peer] = self._own
        interests = list(found.values())
        if len(interests) > self._samples:
            interests = self._environment.random.sample(interests, self._samples)
        return InterestSample(topic, interests)

    def _look_down(self) -> None:
        if self._trees.changes != self._seen_changes:
            self._seen_changes = self._trees.changes
            for topic in self._trees.roots:
                if topic not in self.views:
                    self.views[topic] = self._take_sample(topic, self._trees.children.get(topic, ()))
            self._hand_down(None)

    def _hand_down(self, topics: Mapping[int, object] | None) -> None:
        """Send the views (of `topics`, or all) to the children that do not have them, a message to each."""
        trees = self._trees
        down: dict[int, list[InterestSample]] = {}
        for topic, children in trees.children.items():
            view = self.views.get(topic)
            if view is None or (topics is not None and topic not in topics):
                continue
            for child in children:
                sent = self._sent_down.setdefault(child, {})
                if sent.get(topic) is not view:
                    sent[topic] = view
                    down.setdefault(child, []).append(view)
        for child, views in down.items():
            self.sent += 1
            self._environment.send(child, InterestsDown(views))
        if topics is None:
            for child in [child for child in self._sent_down if not self._is_child(child)]:
                del self._sent_down[child]

    def _is_child(self, peer: int) -> bool:
        return any(peer in self._trees.children.get(topic, ()) for topic in self._sent_down[peer])

    def _on_samples(self, sender: int, message: InterestsUp) -> None:
        for sample in message.samples:
            if sender in self._trees.children.get(sample.topic, ()):
                self._below.setdefault(sample.topic, {})[sender] = sample
                self._changed.add(sample.topic)

    def _on_views(self, sender: int, message: InterestsDown) -> None:
        news = {}
        for view in message.views:
            if self._trees.parents.get(view.topic) == sender:
                self.views[view.topic] = news[view.topic] = view
        if news:
            self._hand_down(news)
