"""The state of one epoch at one server: pieces of the event space, trees, and moved subscriptions.

While one epoch follows another, a server has both, and each event is routed by the epoch in which it was
published.
"""

from __future__ import annotations

from typing import Final

from emulator.protocols.overlays.cliques.view import View
from emulator.protocols.pubsub.content.space import Box, Values
from emulator.protocols.pubsub.content.trees import FilterTree
from emulator.protocols.pubsub.kyra.epoch import Epoch
from emulator.protocols.pubsub.kyra.movement import Movement
from emulator.protocols.pubsub.kyra.parameters import KyraLayout
from emulator.protocols.pubsub.kyra.proxy import Proxy
from emulator.protocols.pubsub.kyra.server_context import ServerContext
from emulator.protocols.pubsub.kyra.tree_membership import TreeMembership
from emulator.protocols.pubsub.kyra.zone_assignment import ZoneAssignment

_PREPARATION: Final = 9.0
"""A server routes the events in a new piece after this many seconds, even if it has not heard from all by
then."""


class EpochState:
    """One epoch at one server."""

    def __init__(self, server: ServerContext, epoch: Epoch, layout: KyraLayout | None) -> None:
        """With a `layout`, the trees are those that it gives, if it gives any."""
        self._server = server
        self.epoch = epoch
        self.zones = ZoneAssignment(server.peer, epoch)
        self.trees = TreeMembership(server, epoch, None if layout is None else layout.parents)
        self.movement = Movement(server, epoch, self.zones, self.trees)
        self.proxy = Proxy(server, self.zones, self.trees)
        self.stopped = False
        self._view: View | None = None
        self._unprepared: dict[int, float] = {}
        """The pieces for which an event waits, with the trial time in seconds since when."""

    def holder(self, values: Values) -> int | None:
        """Return the server of this clique with the zone of an event; None while there is no clique."""
        number = self.zones.number_of(values)
        return None if number is None else self.zones.pieces[number].holder

    def prepared(self, values: Values) -> FilterTree | None:
        """Return the tree of an event whose zone this server has, once this server knows who wants the event.

        After `_PREPARATION` seconds it returns the tree anyway; before, None.
        """
        number = self.zones.number_of(values)
        if number is None:
            return None
        place = self.zones.pieces[number].tree
        tree = self.trees.tree(place)
        if tree is None:
            return None
        if self.trees.is_ready(place) and self.proxy.has_heard_all(number):
            self._unprepared.pop(number, None)
            return tree
        since = self._unprepared.setdefault(number, self._server.environment.now)
        return tree if self._server.environment.now - since > _PREPARATION else None

    def update(self, view: View | None) -> None:
        """Take in that the clique may have other members or shares."""
        if view is self._view:
            return
        self._view = view
        before = self.zones.holders()
        self.zones.update(view)
        now = self.zones.holders()
        self.proxy.sort()
        if now == before:
            return
        self.movement.end_others(now)
        held = {number for number, (holder, _) in now.items() if holder == self._server.peer}
        for number in [number for number in self._unprepared if number not in held]:
            del self._unprepared[number]
        self.trees.take({self.zones.pieces[number].tree for number in held})
        self.movement.begin_all(now)

    def add(self, interest: int, box: Box) -> None:
        """Add a subscription of this server."""
        self.movement.add(interest, box)

    def remove(self, interest: int) -> None:
        """Remove a subscription of this server."""
        self.movement.remove(interest)

    def stop(self) -> None:
        """End the epoch at this server."""
        self.stopped = True
        self.movement.stop()
        self.proxy.stop()
        self.trees.stop()

    @property
    def settled(self) -> bool:
        """Whether trees and proxies know all that this server wants."""
        return bool(self.zones.pieces) and self.movement.settled and self.trees.settled
