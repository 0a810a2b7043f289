"""How a server finds its place on a tree that grows: it attaches to the nearest member nearer to the root.

Members agree on the root: the first in an order of their numbers when the tree begins or its root is gone,
and then the one that most of them have. Every server measures how far it is from the root, and asks the
others how far they are, each until it knows; so each has its parent before it in one order, and there is no
cycle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Final

from emulator.contract.protocol import Message
from emulator.protocols.overlays.cliques.view import to_units
from emulator.protocols.pubsub.content.links import TreeLinks
from emulator.protocols.pubsub.kyra.server_context import ServerContext
from trellis.v1.kyra import KyraDistance, KyraProbe

_LOOKS = (0.3, 1.0, 2.0, 4.0)
"""Seconds after a change of the members at which a server looks for a parent."""
_LATER: Final = 10.0
"""Seconds after which a server that has its place looks for newcomers."""
_MOST: Final = 64
"""Members that are asked in one look."""
_KEPT: Final = 6
"""Candidates for the parent."""


class Growth:
    """One server's search on one tree."""

    def __init__(self, server: ServerContext, table: tuple[int, int], links: TreeLinks) -> None:
        self._environment = server.environment
        self._table = table
        self._links = links
        self._measuring = server.measuring
        self._patience = server.patience
        self._down = server.down
        self._members: list[int] = []
        self.root = server.peer
        self._settled = False
        """Whether others agree on the root, so that newcomers do not change it."""
        self._round = 0
        self._distances: dict[int, int] = {}
        """From roots. They stay as they were first measured: the order of the members must not change."""
        self._heard: dict[int, KyraDistance] = {}
        """What other members told last in this search."""
        self._searching = False
        """Whether another look is to come."""
        self._will_look = False
        self._new = True
        """Whether it has not looked for a parent yet, because most members have told nothing."""
        self._leaving = False
        self._stopped = False

    @property
    def placed(self) -> bool:
        """Whether most agree on the root, and this server has a way to it, or is it by the words of all."""
        if len(self._members) > 1 and not self._settled:
            return False
        if self.root == self._environment.peer:
            agreed = bool(self._heard) and not self._others()
            return len(self._members) < 2 or (agreed and bool(self._links.neighbours))
        path = self._links.path
        return bool(path) and path[-1] == self.root

    def leave(self) -> list[int]:
        """Be nobody's parent or root any more, but go where the others go: those whom this concerns."""
        self._leaving = True
        self._settled = False
        self._links.closing = True
        self.look_anew()
        return sorted({*self._members, *self._links.neighbours} - {self._environment.peer})

    def stop(self) -> None:
        """Look for no parent any more."""
        self._stopped = True

    def lose(self, peer: int) -> None:
        """The peer cannot be reached."""
        self._pass_over(peer)
        if self.root == peer:
            self.look_anew()

    def on_leaving(self, peer: int) -> None:
        """Another member will not be on the tree any more."""
        known = self._is_down(peer)
        self._pass_over(peer)
        if not known and peer in (self.root, self._links.parent):
            self.look_anew()

    def update(self, members: Sequence[int]) -> None:
        """The members of the tree, this server among them.

        With root and parent in their places there is no hurry: newcomers find those who were there, and a
        search that is under way will ask them.
        """
        if list(members) == self._members:
            return
        self._members = list(members)
        if self._searching and (self._settled or self.root == self._first()):
            return
        parent = self._links.parent
        in_place = self.root in members and (parent is None or parent in members)
        if not (self._settled and in_place):
            self.look_anew()
        elif not self._will_look:
            self._will_look = True
            self._environment.set_timer(_LATER, self._look_at_newcomers)

    def look_anew(self) -> None:
        """Something changed: find root and parent again."""
        me = self._environment.peer
        if self._leaving and self._there() == [me]:
            return
        if not self._settled or self._is_down(self.root):
            self._settled = False
            self.root = self._first()
            self._heard.clear()
        self._round += 1
        self._searching = True
        self._links.claims_root = self.root == me
        if not self._links.claims_root:
            self._measuring.ping_all([self.root], lambda rtts: None)
        elif self._links.parent is None and not self._links.children:
            self._links.aim([])
        for delay in _LOOKS:
            self._environment.set_timer(delay, partial(self._look, self._round, delay == _LOOKS[-1]))

    def _look_at_newcomers(self) -> None:
        self._will_look = False
        self._look(self._round, True)

    def _there(self) -> list[int]:
        """The members that are up, as far as is known."""
        me = self._environment.peer
        others = [peer for peer in self._members if peer != me and not self._is_down(peer)]
        return others if self._leaving and others else [me, *others]

    def _first(self) -> int:
        """The root if nobody had one yet."""
        return min(self._there(), key=partial(_rank, self._table))

    def _pass_over(self, peer: int) -> None:
        """It is not there, or not on the tree."""
        self._down.add((*self._table, peer))
        self._heard.pop(peer, None)

    def _is_down(self, peer: int) -> bool:
        return (*self._table, peer) in self._down

    def on_probe(self) -> KyraDistance:
        """Another member asks."""
        distance = self._distance()
        return KyraDistance(
            not self._leaving, self.root, distance or 0, distance is not None, self._leaving, self._settled
        )

    def _distance(self) -> int | None:
        """From the root, in units; None if it is not known."""
        if self.root == self._environment.peer:
            return 0
        if self.root not in self._distances and self.root in self._measuring.rtts:
            self._distances[self.root] = to_units(self._measuring.rtts[self.root])
        return self._distances.get(self.root)

    def _look(self, round: int, last: bool) -> None:
        if round != self._round or self._stopped:
            return
        if self._distance() is None:
            if last:
                self._give_up_root()
            else:
                self._measuring.ping_all([self.root], lambda rtts: None)
            return
        me, members = self._environment.peer, set(self._members)
        for peer in [peer for peer in self._heard if peer not in members]:
            del self._heard[peer]
        others = [peer for peer in self._members if peer not in (me, self.root) and not self._knows(peer)]
        if len(others) > _MOST:
            others = self._environment.random.sample(others, _MOST)
        if self.root != me:
            others.append(self.root)
        probe, sent = KyraProbe(*self._table), self._environment.now
        for peer in others:
            answered = partial(self._answered, round, peer, sent, last)
            self._environment.request(peer, probe, self._patience, answered, lambda: None)
        self._environment.set_timer(self._patience / 2, partial(self._choose, round, last))

    def _give_up_root(self) -> None:
        """It did not answer: let another one be the root."""
        self._pass_over(self.root)
        self.look_anew()

    def _answered(self, round: int, peer: int, sent: float, last: bool, answer: Message) -> None:
        assert isinstance(answer, KyraDistance)
        self._measuring.note(peer, self._environment.now - sent)
        if round != self._round or self._stopped:
            return
        if answer.member:
            self._down.discard((*self._table, peer))
        elif answer.leaving:
            self.on_leaving(peer)
        else:
            self._heard.pop(peer, None)
            if peer == self.root and last:
                self._give_up_root()
            return
        # Those who leave know better than newcomers what is the root.
        self._heard[peer] = answer

    def _knows(self, peer: int) -> bool:
        """Whether the member has told how far it is from the root."""
        told = self._heard.get(peer)
        return told is not None and told.member and told.root == self.root and told.known

    def _others(self) -> list[int]:
        """The members that take another server for the root, the nearest first."""
        others = [peer for peer, told in self._heard.items() if told.member and told.root != self.root]
        return sorted(others, key=lambda peer: self._measuring.rtts.get(peer, math.inf))

    def _choose(self, round: int, last: bool) -> None:
        distance = self._distance()
        if round != self._round or distance is None or self._stopped or self._follow_others():
            return
        if self._new and not last and 2 * len(self._heard) < len(self._members) - 1:
            # Each parent that is left again costs both sides all that they told.
            return
        self._new = False
        others = self._others()
        if last and others:
            # Not all agree on the root yet: see what becomes of it.
            self._environment.set_timer(_LOOKS[-1], partial(self._look, round, True))
        elif last:
            self._searching = False
        if self._links.claims_root:
            # Until most know, this server is where the others are. Then they come to it; some may be below.
            self._links.aim([] if self._settled else others[:_KEPT])
            return
        own = distance, self._environment.peer
        rtts = self._measuring.rtts
        before = [
            (to_units(rtts[peer]), peer)
            for peer, told in self._heard.items()
            if (told.distance, peer) < own and peer in rtts and self._knows(peer)
        ]
        near = [peer for _, peer in sorted(before)[:_KEPT]]
        if self.root not in near:
            near.append(self.root)
        self._links.aim(near)
        if self._links.parent != near[0]:
            self._links.switch(near[0])

    def _follow_others(self) -> bool:
        """Take the root that most members have; whether that is another one than before."""
        told_roots: dict[int, int] = {}
        for told in self._heard.values():
            told_roots[told.root] = told_roots.get(told.root, 0) + (2 if told.settled else 1)
        votes = {root: count for root, count in told_roots.items() if not self._is_down(root)}
        votes[self.root] = votes.get(self.root, 0) + (2 if self._settled else 1)
        best = min(votes, key=lambda root: (-votes[root], _rank(self._table, root)))
        other = best != self.root and not self._is_down(best)
        alike = sum(told.root == (best if other else self.root) for told in self._heard.values())
        self._settled = 0 < len(self._heard) <= 2 * alike
        if not other:
            return False
        self.root = best
        self.look_anew()
        return True


def _rank(table: tuple[int, int], peer: int) -> tuple[int, int]:
    """An order of servers that is another one for each tree."""
    mixed = (peer * 0x9E3779B1 + table[0] * 0x85EBCA77 + table[1] * 0xC2B2AE3D) & 0xFFFFFFFF
    mixed ^= mixed >> 15
    mixed = (mixed * 0x2C1B3C6D) & 0xFFFFFFFF
    return mixed ^ mixed >> 12, peer
