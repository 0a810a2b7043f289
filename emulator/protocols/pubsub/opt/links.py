"""The links of an OPT peer: symmetric, chosen by coverage, and refused by full peers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from emulator.contract.protocol import Environment
from emulator.messages.message import Message
from emulator.protocols.pubsub.opt.candidates import Candidates
from emulator.protocols.pubsub.opt.coverage import Coverage
from emulator.protocols.pubsub.opt.knowledge import Knowledge
from emulator.protocols.pubsub.opt.parameters import OptParameters
from trellis.v1.opt import TopicLinkAnswer, TopicLinkEnd, TopicLinkHeartbeat, TopicLinkRequest
from trellis.v1.overlay import Profile

_IN_A_ROUND: Final = 16
"""The most peers that are asked for links in one round, one after the other."""
_ANEW: Final = -1
"""The value that makes the next choice find candidates anew, since other topics may be lacking now."""


class Link:
    """A neighbour, or a peer that was asked to be one."""

    __slots__ = ("heard", "is_random", "profile")

    def __init__(self, profile: Profile, is_random: bool, heard: float) -> None:
        self.profile = profile
        self.is_random = is_random
        """Whether either end chose the link for random coverage."""
        self.heard = heard
        """The time at which the neighbour was last heard from (s of trial time)."""


class Links:
    """The neighbours of one peer, and the search for more."""

    def __init__(
        self,
        environment: Environment,
        parameters: OptParameters,
        own: Callable[[], Profile],
        knowledge: Knowledge,
    ) -> None:
        self._environment = environment
        self._parameters = parameters
        self._own = own
        self._knowledge = knowledge
        self.links: dict[int, Link] = {}
        """The neighbours by peer."""
        self._asked: dict[int, Link] = {}
        """The peers that were asked and have not answered. They count as neighbours until they refuse."""
        self._left = 0
        """The number of peers that may still be asked in this round."""
        self._candidates = Candidates(self.links, environment.random)
        self._knew = _ANEW
        """The value of `Knowledge.changes` when the candidates were found."""
        self._greedy = Coverage(0, 0)
        self._random = Coverage(0, 0)
        environment.serve(TopicLinkRequest, self._on_request)
        environment.handle(TopicLinkHeartbeat, self._on_heartbeat)
        environment.handle(TopicLinkEnd, self._on_end)

    def describe(self) -> None:
        """Count coverage anew, because this peer's own topics have changed."""
        self._knew = _ANEW
        topics = self._own().topics
        self._greedy = Coverage(topics, self._parameters.greedy)
        self._random = Coverage(topics, self._parameters.random)
        for link in [*self.links.values(), *self._asked.values()]:
            self._count(link)

    def uncovered(self) -> int:
        """Return the topics that are not covered as often as wanted, as a bit set."""
        return self._greedy.lacking | self._random.lacking

    def seek(self) -> None:
        """Ask peers for links until the topics are covered, or no useful one is left."""
        self._candidates.forgive(self._environment.now - self._parameters.retry, self._greedy.lacking)
        self._left = _IN_A_ROUND
        self._ask_next()

    def beat(self) -> None:
        """Tell the neighbours that this peer is there, and give up those that are silent."""
        oldest = self._environment.now - self._parameters.stale_after * self._parameters.period
        for peer in [peer for peer, link in self.links.items() if link.heard < oldest]:
            self.drop(peer)
        heartbeat = TopicLinkHeartbeat(self._own())
        for peer in self.links:
            self._environment.send(peer, heartbeat)

    def drop(self, peer: int) -> None:
        """End the link to a peer."""
        link = self.links.pop(peer, None)
        if link is not None:
            self._knew = _ANEW
            self._discount(link)

    def clear(self) -> None:
        """Forget all links."""
        self._knew = _ANEW
        self.links.clear()
        self._asked.clear()
        self._left = 0

    def _has_room(self) -> bool:
        most = self._parameters.degree
        return not most or len(self.links) + len(self._asked) < most

    def _ask_next(self) -> None:
        """Choose one peer and ask it.

        The next choice waits for the answer, after which no other may be needed.
        """
        if self._asked or not self._left or not self.uncovered() or not self._has_room():
            return
        if self._knew != self._knowledge.changes:
            self._knew = self._knowledge.changes
            self._candidates.fill(self._knowledge.candidates(), self._greedy.lacking)
        chosen = self._candidates.choose_greedily(self._greedy.lacking)
        is_random = chosen is None
        if chosen is None:
            chosen = self._candidates.choose_randomly(self._random.lacking)
        if chosen is not None:
            self._left -= 1
            self._ask(chosen, is_random)

    def _ask(self, profile: Profile, is_random: bool) -> None:
        peer = profile.peer
        link = self._asked[peer] = Link(profile, is_random, self._environment.now)
        self._count(link)
        self._environment.request(
            peer,
            TopicLinkRequest(self._own(), is_random),
            self._parameters.request_timeout,
            lambda reply: self._on_answer(peer, reply),
            lambda: self._on_refusal(peer),
        )

    def _on_answer(self, peer: int, reply: Message) -> None:
        profile = reply.profile if isinstance(reply, TopicLinkAnswer) else None
        if not isinstance(reply, TopicLinkAnswer):
            self._environment.drop(type(reply), "it answers something else")
        if profile is None:
            self._on_refusal(peer)
            return
        asked = self._asked.pop(peer, None)
        if asked is not None:
            self._discount(asked)
            if peer not in self.links:
                self._add(peer, Link(profile, asked.is_random, self._environment.now))
        self._ask_next()

    def _on_refusal(self, peer: int) -> None:
        asked = self._asked.pop(peer, None)
        if asked is not None:
            self._discount(asked)
            self._candidates.refused(asked.profile, self._environment.now, was_random=asked.is_random)
        self._ask_next()

    def _on_request(self, sender: int, request: TopicLinkRequest) -> TopicLinkAnswer:
        profile = request.profile
        if profile is None:
            self._environment.drop(TopicLinkRequest, "it lacks a part")
            return TopicLinkAnswer()
        if not profile.topics & self._own().topics:
            return TopicLinkAnswer()
        if sender not in self.links:
            if sender not in self._asked and not self._has_room():
                return TopicLinkAnswer()
            asked = self._asked.pop(sender, None)
            if asked is not None:
                self._discount(asked)
            is_random = request.random or (asked is not None and asked.is_random)
            self._add(sender, Link(profile, is_random, self._environment.now))
        return TopicLinkAnswer(self._own())

    def _add(self, peer: int, link: Link) -> None:
        self.links[peer] = link
        self._count(link)

    def _on_heartbeat(self, sender: int, message: TopicLinkHeartbeat) -> None:
        link, profile = self.links.get(sender), message.profile
        if profile is None:
            self._environment.drop(TopicLinkHeartbeat, "it lacks a part")
        if link is None or profile is None:
            if sender not in self._asked:
                self._environment.send(sender, TopicLinkEnd())
            return
        link.heard = self._environment.now
        if profile is not link.profile:
            self._knew = _ANEW
            self._discount(link)
            link.profile = profile
            self._count(link)

    def _on_end(self, sender: int, message: TopicLinkEnd) -> None:
        self.drop(sender)

    def _count(self, link: Link) -> None:
        self._greedy.add(link.profile.topics)
        if link.is_random:
            self._random.add(link.profile.topics)

    def _discount(self, link: Link) -> None:
        self._greedy.remove(link.profile.topics)
        if link.is_random:
            self._random.remove(link.profile.topics)
