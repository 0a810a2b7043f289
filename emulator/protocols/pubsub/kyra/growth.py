"""The growth of a tree: a server attaches to the nearest member that is nearer to the root than itself.

Members agree on the root. When the tree begins or its root is gone, they take the first member in a fixed
order; later they take the root that most members have. Every server measures its distance from the root and
asks the other members for theirs. A parent always comes before its child in the order of these distances, so
there is no cycle.
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
"""The seconds after a change of the members at which a server looks for a parent."""
_LATER: Final = 10.0
"""The seconds after which a server that has its place looks for new members."""
_MOST: Final = 64
"""The most members that a server asks in one look."""
_KEPT: Final = 6
"""The most candidates for the parent."""


class Growth:
    """The search of one server for its parent on one tree."""

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
        """Whether most members agree on the root, so that new members do not change it."""
        self._round = 0
        self._distances: dict[int, int] = {}
        """The distances from roots, by root. They stay as first measured, so that the order of members never
        changes."""
        self._heard: dict[int, KyraDistance] = {}
        """The last answers of other members in this search, by member."""
        self._searching = False
        """Whether this server will look for a parent again in this search."""
        self._will_look = False
        self._new = True
        """Whether this server has yet to choose a parent, because most members have not answered."""
        self._leaving = False
        self._stopped = False

    @property
    def placed(self) -> bool:
        """Whether this server has its place: most members agree on the root, and its path leads there.

        If it is the root itself, it has a neighbour and all members that answered take it for the root. A
        lone member always has its place.
        """
        if len(self._members) > 1 and not self._settled:
            return False
        if self.root == self._environment.peer:
            agreed = bool(self._heard) and not self._others()
            return len(self._members) < 2 or (agreed and bool(self._links.neighbours))
        path = self._links.path
        return bool(path) and path[-1] == self.root

    def leave(self) -> list[int]:
        """Prepare to leave the tree: be neither parent nor root any more. Returns the members that this
        concerns.

        Until it leaves, the server follows the root that the other members choose.
        """
        self._leaving = True
        self._settled = False
        self._links.closing = True
        self.look_anew()
        return sorted({*self._members, *self._links.neighbours} - {self._environment.peer})

    def stop(self) -> None:
        """Stop looking for a parent."""
        self._stopped = True

    def lose(self, peer: int) -> None:
        """Note that the peer cannot be reached."""
        self._pass_over(peer)
        if self.root == peer:
            self.look_anew()

    def on_leaving(self, peer: int) -> None:
        """Note that another member is about to leave the tree."""
        known = self._is_down(peer)
        self._pass_over(peer)
        if not known and peer in (self.root, self._links.parent):
            self.look_anew()

    def update(self, members: Sequence[int]) -> None:
        """Take in the members of the tree, this server among them.

        If root and parent are in their places there is no hurry: new members find those that were there, and
        a search that is under way will ask them.
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
        """Begin a new search for root and parent, because something changed."""
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
        """Return the members that are up, as far as this server knows."""
        me = self._environment.peer
        others = [peer for peer in self._members if peer != me and not self._is_down(peer)]
        return others if self._leaving and others else [me, *others]

    def _first(self) -> int:
        """Return the root that the order of members gives, for when no member has a root yet."""
        return min(self._there(), key=partial(_rank, self._table))

    def _pass_over(self, peer: int) -> None:
        """Note that the peer is down, or not on the tree."""
        self._down.add((*self._table, peer))
        self._heard.pop(peer, None)

    def _is_down(self, peer: int) -> bool:
        return (*self._table, peer) in self._down

    def on_probe(self) -> KyraDistance:
        """Answer another member that asks for this server's distance."""
        distance = self._distance()
        return KyraDistance(
            not self._leaving, self.root, distance or 0, distance is not None, self._leaving, self._settled
        )

    def _distance(self) -> int | None:
        """Return the distance from the root in units, None if it is not known."""
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
        """Give up a root that did not answer, so that another member becomes the root."""
        self._pass_over(self.root)
        self.look_anew()

    def _answered(self, round: int, peer: int, sent: float, last: bool, answer: Message) -> None:
        if not isinstance(answer, KyraDistance):
            self._environment.drop(type(answer), "it answers something else")
            return
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
        # A member that is leaving knows better than new members which server is the root.
        self._heard[peer] = answer

    def _knows(self, peer: int) -> bool:
        """Return whether the member has told its distance from the same root."""
        told = self._heard.get(peer)
        return told is not None and told.member and told.root == self.root and told.known

    def _others(self) -> list[int]:
        """Return the members that take another server for the root, the nearest first."""
        others = [peer for peer, told in self._heard.items() if told.member and told.root != self.root]
        return sorted(others, key=lambda peer: self._measuring.rtts.get(peer, math.inf))

    def _choose(self, round: int, last: bool) -> None:
        distance = self._distance()
        if round != self._round or distance is None or self._stopped or self._follow_others():
            return
        if self._new and not last and 2 * len(self._heard) < len(self._members) - 1:
            # Changing a parent costs both sides all that they told each other, so wait for more answers.
            return
        self._new = False
        others = self._others()
        if last and others:
            # Not all agree on the root yet: look again later.
            self._environment.set_timer(_LOOKS[-1], partial(self._look, round, True))
        elif last:
            self._searching = False
        if self._links.claims_root:
            # Until most members know the root, it attaches to others itself. Then they come to it, perhaps as
            # its children.
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
        """Take the root that most members have. Returns whether it is another one than before."""
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
    """Return the rank of a server in an order that differs from tree to tree."""
    mixed = (peer * 0x9E3779B1 + table[0] * 0x85EBCA77 + table[1] * 0xC2B2AE3D) & 0xFFFFFFFF
    mixed ^= mixed >> 15
    mixed = (mixed * 0x2C1B3C6D) & 0xFFFFFFFF
    return mixed ^ mixed >> 12, peer
