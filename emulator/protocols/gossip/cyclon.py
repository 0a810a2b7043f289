"""Cyclon (Voulgaris, Gavidia, van Steen: inexpensive membership management, JNSM 13(2), 2005).

Each period a peer exchanges a few entries of its view with the peer of its oldest entry. The links are
directed: a peer does not know who has it in a view.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from emulator.contract.draws import below
from emulator.contract.invariants import Invariant
from emulator.contract.protocol import Contact, Environment, Gauge, Membership
from emulator.contract.system import MembershipKind
from emulator.messages.message import Message
from emulator.protocols.gossip.cyclon_parameters import CyclonParameters
from trellis.v1.cyclon import CyclonJoin, CyclonShuffle, CyclonShuffleReply, CyclonWalk, CyclonWelcome


@mypyc_attr(allow_interpreted_subclasses=True)
class Cyclon(Membership):
    """One peer of Cyclon; its neighbours are those of its view."""

    GAUGES: ClassVar[Mapping[str, Gauge]] = {
        "oldest": Gauge("Age of the oldest entry of the view.", "shuffles"),
    }

    def __init__(self, environment: Environment, parameters: CyclonParameters) -> None:
        super().__init__(environment)
        self.size = parameters.view
        self._shuffled = parameters.shuffle
        self.period = parameters.period
        self._walk = parameters.walk
        self._timeout = parameters.timeout
        self._view: dict[int, int] = {}
        """The age of each entry in shuffles, by its peer."""
        self._introducers: list[int] = []
        environment.serve(CyclonShuffle, self._on_shuffle)
        environment.handle(CyclonJoin, self._on_join)
        environment.handle(CyclonWalk, self._on_walk)
        environment.handle(CyclonWelcome, self._on_welcome)

    def start(self, contacts: Sequence[int]) -> None:
        self._join(contacts)
        self.environment.every(self.period, self._shuffle)

    def stop(self, graceful: bool) -> None:
        self._view.clear()

    def on_unreachable(self, peer: int) -> None:
        if peer in self._introducers:
            self._introducers.remove(peer)
        self._forget(peer)

    def gauges(self) -> dict[str, float]:
        return {"oldest": float(max(self._view.values(), default=0))}

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return {_VIEW: list(self._view)}

    def sample(self, count: int) -> Sequence[int]:
        return self._draw(count, [])

    def _join(self, contacts: Sequence[int]) -> None:
        """Join through one introducer, which enters the view at once; the others stand by."""
        self._introducers = [contact for contact in contacts if contact != self.environment.peer]
        if self._introducers and not self._view:
            introducer = self._introducers.pop(0)
            self._learn(introducer, 0)
            self.environment.send(introducer, CyclonJoin())

    def _on_join(self, sender: int, message: CyclonJoin) -> None:
        """Start as many random walks as a view has entries; each ends where the newcomer is taken in."""
        for _ in range(self.size):
            self._step(CyclonWalk(sender, self._walk))

    def _on_walk(self, sender: int, message: CyclonWalk) -> None:
        self._step(CyclonWalk(message.newcomer, min(message.steps, self._walk)))

    def _step(self, walk: CyclonWalk) -> None:
        newcomer = walk.newcomer
        onward = [peer for peer in self._view if peer != newcomer]
        if walk.steps and onward:
            next_hop = onward[below(self.environment.random, len(onward))]
            self.environment.send(next_hop, CyclonWalk(newcomer, walk.steps - 1))
        elif newcomer != self.environment.peer:
            self._take_in(newcomer)

    def _take_in(self, newcomer: int) -> None:
        """Replace a random entry by the newcomer's, and give it the replaced one.

        A peer whose view has room replaces nothing and gives its own entry instead.
        """
        given, age = self.environment.peer, 0
        if newcomer not in self._view:
            if len(self._view) >= self.size:
                given = self._draw(1, [])[0]
                age = self._view[given]
                self._forget(given)
            self._learn(newcomer, 0)
        self.environment.send(newcomer, CyclonWelcome(given, age))

    def _on_welcome(self, sender: int, message: CyclonWelcome) -> None:
        if len(self._view) < self.size:
            self._learn(message.peer, message.age)

    def _shuffle(self) -> None:
        """Begin an exchange with the peer of the oldest entry, steps 1 to 4 of the enhanced shuffling."""
        if not self._view:
            if self._introducers:
                self._join(self._introducers)
            else:
                self.environment.find_contacts(self._join)
            return
        for peer in self._view:
            self._view[peer] += 1
        oldest = max(self._view, key=self._age)
        self._forget(oldest)
        sent = self._draw(self._shuffled - 1, [])
        peers = [self.environment.peer, *sent]
        ages = [0, *map(self._age, sent)]
        self.environment.request(
            oldest,
            CyclonShuffle(peers, ages),
            self._timeout,
            partial(self._on_reply, sent),
            _nothing,
        )

    def _on_shuffle(self, sender: int, message: CyclonShuffle) -> CyclonShuffleReply | None:
        if len(message.peers) != len(message.ages):
            self.environment.drop(CyclonShuffle, _UNEQUAL)
            return None
        reply = self._draw(self._shuffled, [sender])
        ages = [*map(self._age, reply)]
        self._integrate(message.peers, message.ages, reply)
        return CyclonShuffleReply(reply, ages)

    def _on_reply(self, sent: Sequence[int], reply: Message) -> None:
        if not isinstance(reply, CyclonShuffleReply):
            self.environment.drop(type(reply), "it answers something else")
        elif len(reply.peers) != len(reply.ages):
            self.environment.drop(CyclonShuffleReply, _UNEQUAL)
        else:
            self._integrate(reply.peers, reply.ages, sent)

    def _integrate(self, peers: Sequence[int], ages: Sequence[int], sent: Sequence[int]) -> None:
        """Take entries in: in empty places, then in those of entries that were `sent` (steps 6 and 7)."""
        spare = [peer for peer in sent if peer in self._view]
        for peer, age in zip(peers, ages, strict=True):
            if peer in self._view or peer == self.environment.peer:
                continue
            if len(self._view) >= self.size:
                while spare and spare[-1] not in self._view:
                    spare.pop()
                if not spare:
                    return
                self._forget(spare.pop())
            self._learn(peer, age)

    def _age(self, peer: int) -> int:
        return self._view[peer]

    def _draw(self, count: int, without: Sequence[int]) -> list[int]:
        peers = [peer for peer in self._view if peer not in without]
        return self.environment.random.sample(peers, min(count, len(peers)))

    def _learn(self, peer: int, age: int) -> None:
        if peer not in self._view and peer != self.environment.peer:
            self._view[peer] = age
            self.tell_change(Contact(peer), True)

    def _forget(self, peer: int) -> None:
        if self._view.pop(peer, None) is not None:
            self.tell_change(Contact(peer), False)


def _nothing() -> None:
    """Do nothing about a shuffle that failed: the entry has left the view already."""


_VIEW: Final = "view"
_UNEQUAL: Final = "its lists do not fit"

_FORGETS: Final = Invariant(
    "views_forget_the_dead",
    "No view of Cyclon holds a peer that has been down for twice as many shuffles as a view has places, "
    "where at least a quarter more peers are up than that (Voulgaris, Gavidia, van Steen, JNSM 2005: the "
    "oldest entry leaves a view at each shuffle).",
    "emulator.protocols.gossip.cyclon_invariant:broken",
)
CYCLON: Final = MembershipKind(
    name="cyclon",
    title="Cyclon",
    paper="Voulgaris, Gavidia, van Steen: Cyclon, JNSM 2005",
    parameters=CyclonParameters,
    create=Cyclon,
    invariants=(_FORGETS,),
)
