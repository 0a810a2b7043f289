"""One epoch at one server: its pieces of the event space, its trees, and moved subscriptions.

While one epoch follows another, both are there, and each event is routed by the one that it was published in.
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
from emulator.protocols.pubsub.kyra.server_context import Site
from emulator.protocols.pubsub.kyra.tree_membership import Places
from emulator.protocols.pubsub.kyra.zone_assignment import Holdings

_PREPARATION: Final = 9.0
"""Seconds after which a server routes the events in a piece, whatever it has heard by then."""


class Plane:
    """One epoch at one server."""

    def __init__(self, site: Site, epoch: Epoch, layout: KyraLayout | None) -> None:
        """With a `layout`, trees are the ones that it tells, if it does."""
        self._site = site
        self.epoch = epoch
        self.holdings = Holdings(site.peer, epoch)
        self.places = Places(site, epoch, None if layout is None else layout.parents)
        self.movement = Movement(site, epoch, self.holdings, self.places)
        self.proxy = Proxy(site, self.holdings, self.places)
        self._view: View | None = None
        self._unprepared: dict[int, float] = {}
        """Pieces for which an event waits, and since when."""

    def holder(self, values: Values) -> int | None:
        """The server of this clique that has the zone of an event; None while this server is in no clique."""
        number = self.holdings.number_of(values)
        return None if number is None else self.holdings.pieces[number].holder

    def prepared(self, values: Values) -> FilterTree | None:
        """The tree of an event whose zone this server has, as soon as it knows who wants the event.

        After `_PREPARATION` it is told anyway.
        """
        number = self.holdings.number_of(values)
        if number is None:
            return None
        place = self.holdings.pieces[number].tree
        tree = self.places.tree(place)
        if tree is None:
            return None
        if self.places.is_ready(place) and self.proxy.has_heard_all(number):
            self._unprepared.pop(number, None)
            return tree
        since = self._unprepared.setdefault(number, self._site.environment.now)
        return tree if self._site.environment.now - since > _PREPARATION else None

    def update(self, view: View | None) -> None:
        """The clique may have other members or shares."""
        if view is self._view:
            return
        self._view = view
        before = self.holdings.holders()
        self.holdings.update(view)
        now = self.holdings.holders()
        self.proxy.sort()
        if now == before:
            return
        self.movement.end_others(now)
        held = {number for number, (holder, _) in now.items() if holder == self._site.peer}
        for number in [number for number in self._unprepared if number not in held]:
            del self._unprepared[number]
        self.places.take({self.holdings.pieces[number].tree for number in held})
        self.movement.begin_all(now)

    def add(self, interest: int, box: Box) -> None:
        """A subscription came."""
        self.movement.add(interest, box)

    def remove(self, interest: int) -> None:
        """A subscription went."""
        self.movement.remove(interest)

    def stop(self) -> None:
        """The epoch is over."""
        self.movement.stop()
        self.proxy.stop()
        self.places.stop()

    @property
    def settled(self) -> bool:
        """Whether trees and proxies know all that this server wants."""
        return bool(self.holdings.pieces) and self.movement.settled and self.places.settled
