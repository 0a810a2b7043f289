"""The knowledge that an OPT peer has of others: the peers that share a topic with it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from typing import Final

from mypy_extensions import mypyc_attr

from emulator.contract.protocol import Environment
from emulator.protocols.gossip.newscast import Newscast
from emulator.protocols.gossip.profiles import newer
from trellis.v1.opt import InterestExchange
from trellis.v1.overlay import Profile

_TOLD: Final = 50
"""The most profiles in an exchange."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Knowledge(ABC):
    """The interface of what finds candidates for neighbours."""

    def __init__(self) -> None:
        self.changes = 0
        """A count that changes whenever the set of candidates does."""

    @abstractmethod
    def start(self, contacts: Sequence[int]) -> None:
        """Begin to learn of peers, with the help of a random few live peers."""

    @abstractmethod
    def stop(self, graceful: bool) -> None:
        """Forget all peers, and learn of no more."""

    @abstractmethod
    def learn(self, then: Callable[[], None]) -> None:
        """Run a round, and call `then` once the peer knows what can be learnt at once."""

    @abstractmethod
    def candidates(self) -> Collection[Profile]:
        """Return the known peers with a common topic."""

    @abstractmethod
    def forget(self, peer: int) -> None:
        """Forget a peer that is gone, or said to be."""

    @abstractmethod
    def describe(self) -> None:
        """Note that this peer's own topics have changed."""


@mypyc_attr(allow_interpreted_subclasses=True)
class GossipKnowledge(Knowledge):
    """Knowledge by gossip: Newscast finds peers, and peers that share topics tell each other whom they know.

    Of the known peers with a common topic, those that were told of last are kept.
    """

    def __init__(
        self,
        environment: Environment,
        own: Callable[[], Profile],
        *,
        view_size: int,
        period: float,
        most: int,
    ) -> None:
        """`most` peers are remembered; `period` is that of Newscast's rounds in seconds."""
        super().__init__()
        self._environment = environment
        self._own = own
        self._most = most
        self._known: dict[int, Profile] = {}
        self._newscast = Newscast(environment.channel("newscast"), own, view_size=view_size, period=period)
        environment.handle(InterestExchange, self._on_exchange)

    def start(self, contacts: Sequence[int]) -> None:
        self._newscast.start(contacts)

    def stop(self, graceful: bool) -> None:
        self._newscast.stop(graceful)
        self._known.clear()

    def learn(self, then: Callable[[], None]) -> None:
        for profile in self._newscast.view():
            self._note(profile)
        if self._known:
            partner = self._environment.random.choice(list(self._known.values()))
            self._environment.send(partner.peer, self._exchange(partner.topics, partner.peer, reply=False))
        then()

    def candidates(self) -> Collection[Profile]:
        return self._known.values()

    def forget(self, peer: int) -> None:
        self._known.pop(peer, None)
        self.changes += 1

    def describe(self) -> None:
        self.changes += 1
        own = self._own().topics
        self._known = {peer: each for peer, each in self._known.items() if each.topics & own}

    def _note(self, profile: Profile) -> None:
        if profile.peer == self._environment.peer or not profile.topics & self._own().topics:
            return
        known = self._known.pop(profile.peer, None)
        if known is None or newer(profile, known):
            known = profile
            self.changes += 1
        self._known[profile.peer] = known
        if len(self._known) > self._most:
            del self._known[next(iter(self._known))]

    def _exchange(self, topics: int, partner: int, *, reply: bool) -> InterestExchange:
        """Return an exchange with this peer itself and known peers that share one of the partner's topics."""
        shared = [each for each in self._known.values() if each.topics & topics and each.peer != partner]
        if len(shared) > _TOLD:
            shared = self._environment.random.sample(shared, _TOLD)
        return InterestExchange(reply, [self._own(), *shared])

    def _on_exchange(self, sender: int, message: InterestExchange) -> None:
        if not message.reply and message.profiles:
            self._environment.send(sender, self._exchange(message.profiles[0].topics, sender, reply=True))
        for profile in message.profiles:
            self._note(profile)
