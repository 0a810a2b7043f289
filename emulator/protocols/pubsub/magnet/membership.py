"""Interest-aware membership: a sample of the interests of each topic's subscribers (Magnet, section 3.4).

The subscribers of a topic, and the peers between them and its home, form a tree over the control overlay,
made and kept as Scribe's trees. In a round, samples go up the tree layer by layer, each cut to k interests by
a uniform choice; at the end, the home sends its sample down to all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from emulator.contract.protocol import Contact, Environment, Message, Overlay
from emulator.protocols.pubsub.scribe.parameters import ScribeParameters
from emulator.protocols.pubsub.scribe.trees import Trees
from emulator.protocols.pubsub.shared.home_publishing import NOBODY
from trellis.v1.magnet import InterestSample, InterestsDown, InterestsUp
from trellis.v1.overlay import Profile
from trellis.v1.scribe import TreeJoin

_LAYER: Final = 1.0
"""The seconds between two checks for samples that parents or new children lack; one layer takes this long."""


class InterestMembership:
    """The part of one peer in the membership service."""

    def __init__(
        self,
        environment: Environment,
        control: Overlay,
        parameters: ScribeParameters,
        samples: int,
        period: float,
        wanted: Collection[int],
    ) -> None:
        """`samples` is k, `period` the length of a round (s), `wanted` this peer's own topics."""
        self._environment = environment
        self._samples = samples
        self._period = period
        self._wanted = wanted
        self._own: Profile | None = None
        self._below: dict[int, dict[int, InterestSample]] = {}
        """The sample that each child sent last, by topic and child."""
        self._changed: set[int] = set()
        """The topics whose sample is taken anew before it is sent next."""
        self._sample: dict[int, InterestSample] = {}
        self._sent_up: dict[int, tuple[int, InterestSample]] = {}
        """The parent of each topic, and the sample that it was sent last."""
        self._sent_down: dict[int, dict[int, InterestSample]] = {}
        """The view that each child was sent last, by child and topic."""
        self.views: dict[int, InterestSample] = {}
        """The views by topic, as the home told them last; all peers of a host share one object."""
        self.sent = 0
        """The number of samples and views that this peer has sent."""
        self._trees = Trees(environment, control, parameters, wanted)
        self._seen_changes = -1
        control.carry(self, TreeJoin)
        environment.handle(InterestsUp, self._on_samples)
        environment.handle(InterestsDown, self._on_views)

    def start(self) -> None:
        """Begin the rounds. Call it when the control overlay was started."""
        self._trees.start()
        self._environment.every(self._period, self._round)
        self._environment.every(_LAYER, self._look)

    def stop(self, graceful: bool) -> None:
        """Leave all trees."""
        self._trees.stop(graceful)

    def join(self, topic: int) -> None:
        """Ask for the view of a topic."""
        self._trees.join(topic)
        self._changed.add(topic)

    def leave(self, topic: int) -> None:
        """Drop the view of a topic that is no longer wanted."""
        self.views.pop(topic, None)
        self._sent_up.pop(topic, None)
        self._changed.add(topic)
        self._trees.prune([topic])

    def tell(self, own: Profile | None) -> None:
        """Set the peer's own interests and place; None while it has no place."""
        self._own = own
        self._changed.update(self._wanted)

    def complete(self, topics: Iterable[int]) -> bool:
        """Return whether the views of these topics have come."""
        return all(topic in self.views for topic in topics)

    def known(self) -> dict[int, Profile]:
        """Return the other peers in all views of this peer's topics, the paper's view(p)."""
        found: dict[int, Profile] = {}
        for topic in self._wanted:
            view = self.views.get(topic)
            if view is not None:
                for profile in view.interests:
                    found[profile.peer] = profile
        found.pop(self._environment.peer, None)
        return found

    def subscriber(self, topic: int) -> int:
        """Return a random other subscriber of the topic in its view, or NOBODY."""
        view = self.views.get(topic)
        if view is None:
            return NOBODY
        own = self._environment.peer
        others = [profile.peer for profile in view.interests if profile.peer != own]
        return others[self._environment.random.randrange(len(others))] if others else NOBODY

    def on_unreachable(self, peer: int) -> None:
        """Drop `peer` from the trees; the control overlay was told before."""
        self._trees.on_unreachable(peer)

    def forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        """End a join at the first peer that it comes to (the control overlay's upcall)."""
        assert isinstance(message, TreeJoin)
        return self._trees.forward(message, next_hop)

    def deliver(self, key: int, message: Message, origin: Contact, hops: int) -> None:
        """Act as the home of a topic (the control overlay's upcall)."""
        assert isinstance(message, TreeJoin)
        self._changed.add(message.topic)
        self._trees.deliver(message)

    def neighbour_changed(self, contact: Contact, joined: bool) -> None:
        """Note that a neighbour in the control overlay came or went."""
        if joined:
            self._trees.neighbour_joined(contact)

    def _round(self) -> None:
        """End a round at the home: the samples that have come up are the view now, which goes down."""
        self._forget_others()
        homes = sorted(self._trees.roots)
        for topic in homes:
            self.views[topic] = self._renewed(topic)
        self._hand_down(homes)

    def _look(self) -> None:
        """Send parents the samples that changed and, after a change of trees, whatever neighbours lack."""
        trees = self._trees
        if trees.changes == self._seen_changes:
            self._pass_up(self._changed)
            return
        self._seen_changes = trees.changes
        self._forget_others()
        self._pass_up(trees.parents)
        for topic in sorted(trees.roots):
            if topic not in self.views:
                self.views[topic] = self._renewed(topic)
        self._hand_down(trees.children)

    def _pass_up(self, topics: Iterable[int]) -> None:
        """Send the samples of these topics to parents that lack them, in one message to each parent."""
        up: dict[int, list[InterestSample]] = {}
        for topic in sorted(topics):
            parent = self._trees.parents.get(topic, NOBODY)
            if parent == NOBODY:
                continue
            told = (parent, self._renewed(topic))
            if self._sent_up.get(topic) != told:
                self._sent_up[topic] = told
                up.setdefault(parent, []).append(told[1])
        for parent, samples in up.items():
            self.sent += 1
            self._environment.send(parent, InterestsUp(samples))

    def _renewed(self, topic: int) -> InterestSample:
        """Return the sample of this peer and those below it, taken anew if any of them has changed."""
        sample = self._sample.get(topic)
        if sample is None or topic in self._changed:
            self._changed.discard(topic)
            sample = self._sample[topic] = self._take_sample(topic, self._trees.children.get(topic, ()))
        return sample

    def _forget_others(self) -> None:
        """Drop the samples of trees that this peer has left, and of former children."""
        trees = self._trees
        topics = trees.topics()
        for topic in [topic for topic in self._below if topic not in topics]:
            del self._below[topic]
        for topic, of in self._below.items():
            children = trees.children.get(topic, ())
            for child in [child for child in of if child not in children]:
                del of[child]
                self._changed.add(topic)
        for child in [child for child in self._sent_down if not self._is_child(child)]:
            del self._sent_down[child]
        for topic in [topic for topic in self._sample if topic not in topics]:
            del self._sample[topic]
            self._sent_up.pop(topic, None)
            self.views.pop(topic, None)

    def _take_sample(self, topic: int, children: Iterable[int]) -> InterestSample:
        """Return the interests from below and this peer's own, cut to k by a uniform choice."""
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

    def _hand_down(self, topics: Iterable[int]) -> None:
        """Send the views of these topics to children that lack them, in one message to each child."""
        down: dict[int, list[InterestSample]] = {}
        for topic in topics:
            view = self.views.get(topic)
            if view is None:
                continue
            for child in self._trees.children.get(topic, ()):
                sent = self._sent_down.setdefault(child, {})
                if sent.get(topic) is not view:
                    sent[topic] = view
                    down.setdefault(child, []).append(view)
        for child, views in down.items():
            self.sent += 1
            self._environment.send(child, InterestsDown(views))

    def _is_child(self, peer: int) -> bool:
        return any(peer in self._trees.children.get(topic, ()) for topic in self._sent_down[peer])

    def _on_samples(self, sender: int, message: InterestsUp) -> None:
        for sample in message.samples:
            if sender in self._trees.children.get(sample.topic, ()):
                self._below.setdefault(sample.topic, {})[sender] = sample
                self._changed.add(sample.topic)

    def _on_views(self, sender: int, message: InterestsDown) -> None:
        news = []
        for view in message.views:
            if self._trees.parents.get(view.topic) == sender:
                self.views[view.topic] = view
                news.append(view.topic)
        self._hand_down(news)
