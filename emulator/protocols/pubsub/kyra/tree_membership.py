"""The trees of one epoch that a server is on: it joins those for its pieces, and leaves the others."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Final

from emulator.protocols.pubsub.content.order import candidates
from emulator.protocols.pubsub.content.trees import FilterTree
from emulator.protocols.pubsub.kyra.delayed_release import DelayedRelease
from emulator.protocols.pubsub.kyra.epoch import Epoch
from emulator.protocols.pubsub.kyra.growth import Growth
from emulator.protocols.pubsub.kyra.server_context import ServerContext
from trellis.v1.cliques import CliqueRecord
from trellis.v1.kyra import KyraLeaving

_HOPE: Final = 12.0
"""The seconds for which a server waits for its parent on a tree that was laid out to start too."""


class TreeMembership:
    """The trees of one epoch, as one server sees them."""

    def __init__(self, server: ServerContext, epoch: Epoch, laid_out: list[dict[int, int]] | None) -> None:
        """With `laid_out`, the parents on each tree are given and are not searched for."""
        self._server = server
        self._epoch = epoch
        self._laid_out = laid_out
        self._released_later = DelayedRelease(server.environment)
        self.growths: dict[int, Growth] = {}
        self._leaving: dict[int, Growth] = {}
        """The places on trees that this server is leaving; it stays a while so that the others stay
        connected."""
        self._holders: dict[int, list[int]] = {}
        """The server of each zone in each clique, by the clique's leader."""
        self._changed: set[int] = set()
        """The trees of this server whose members have changed since it last looked."""

    def tree(self, number: int) -> FilterTree | None:
        return self._server.trees.trees.get((self._epoch.number, number))

    def growth(self, number: int) -> Growth | None:
        """Return this server's place on a tree, which it may be about to leave."""
        return self.growths.get(number) or self._leaving.get(number)

    def note_clique(self, before: CliqueRecord | None, now: CliqueRecord | None) -> None:
        """Take in that a clique, perhaps this server's own, came, went or changed."""
        had = [] if before is None else self._holders.pop(before.leader, [])
        has = [] if now is None else self._epoch.holders(now.members, now.ends)
        if now is not None:
            self._holders[now.leader] = has
        for tree in (*self.growths, *self._leaving):
            zones = self._zones(tree)
            if had[zones] != has[zones]:
                self._changed.add(tree)

    def grow(self) -> None:
        """Tell the trees their present members."""
        if self._laid_out is not None:
            return
        changed, self._changed = self._changed, set()
        for tree, growth in (*self.growths.items(), *self._leaving.items()):
            if tree in changed:
                zones, members = self._zones(tree), {self._server.peer}
                for holders in self._holders.values():
                    members.update(holders[zones])
                growth.update(sorted(members))

    def lose(self, peer: int) -> None:
        """Note that a server cannot be reached."""
        for growth in (*self.growths.values(), *self._leaving.values()):
            growth.lose(peer)

    def on_leaving(self, number: int, peer: int) -> None:
        """Note that another server is about to leave a tree."""
        growth = self.growth(number)
        if growth is not None:
            growth.on_leaving(peer)

    def take(self, held: Collection[int]) -> None:
        """Join these trees, and give up all others."""
        for tree in sorted(held):
            self._join(tree)
        for tree in [tree for tree in self.growths if tree not in held]:
            self._give_up(tree)

    def is_ready(self, number: int) -> bool:
        """Return whether this server has a path to the root, and knows what its neighbours want."""
        tree, growth = self.tree(number), self.growths.get(number)
        if tree is None or growth is None or not tree.informed:
            return False
        return self._laid_out is not None or growth.placed

    @property
    def settled(self) -> bool:
        """Whether the neighbours on all trees know what this server wants of them."""
        trees = [self.tree(number) for number in self.growths]
        return all(tree is not None and tree.settled for tree in trees)

    def stop(self) -> None:
        """Leave all trees, because the epoch is over."""
        self._released_later.stop()
        for growth in (*self.growths.values(), *self._leaving.values()):
            growth.stop()
        for epoch, tree in list(self._server.trees.trees):
            if epoch == self._epoch.number:
                self._server.trees.leave((epoch, tree))
        self.growths, self._leaving = {}, {}

    def _zones(self, tree: int) -> slice:
        return slice(tree * self._epoch.parts, (tree + 1) * self._epoch.parts)

    def _join(self, tree: int) -> None:
        if tree in self.growths:
            return
        table = self._epoch.number, tree
        joined = self.tree(tree)
        if joined is None:
            joined = self._server.trees.join(table, self._epoch.region(tree))
        if self._released_later.keep(tree):
            self._leaving.pop(tree).stop()
        joined.links.closing = False
        self._changed.add(tree)
        self.growths[tree] = Growth(self._server, table, joined.links)
        if self._laid_out is not None:
            joined.links.aim(candidates(self._laid_out[tree], self._server.peer), _HOPE)

    def _give_up(self, tree: int) -> None:
        """Give up a tree: this server leaves it after other servers have found their places."""
        growth = self._leaving[tree] = self.growths.pop(tree)
        for peer in growth.leave():
            self._server.environment.send(peer, KyraLeaving(self._epoch.number, tree))
        self._released_later.give_up(tree, partial(self._leave, tree))

    def _leave(self, tree: int) -> None:
        self._leaving.pop(tree).stop()
        self._server.trees.leave((self._epoch.number, tree))
