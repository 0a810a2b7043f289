"""The subscriptions that a server holds as a proxy for other servers, because they lie in its pieces."""

from __future__ import annotations

from functools import partial

from emulator.protocols.pubsub.content.space import NO_BOX, Box
from emulator.protocols.pubsub.content.streams import Inflow
from emulator.protocols.pubsub.kyra.delayed_release import DelayedRelease
from emulator.protocols.pubsub.kyra.movement import PIECES
from emulator.protocols.pubsub.kyra.server_context import ServerContext
from emulator.protocols.pubsub.kyra.tree_membership import TreeMembership
from emulator.protocols.pubsub.kyra.zone_assignment import ZoneAssignment
from trellis.v1.filters import FilterAnswer, FilterUpdate


class Proxy:
    """The subscriptions that the clique's other servers have moved here in one epoch."""

    def __init__(self, server: ServerContext, zones: ZoneAssignment, trees: TreeMembership) -> None:
        self._server = server
        self._zones = zones
        self._trees = trees
        self._released_later = DelayedRelease(server.environment)
        self._moved: dict[tuple[int, int], tuple[Inflow, dict[Box, None]]] = {}
        """The moved subscriptions by mate and piece, in the order in which they came, which is alike in every
        run."""

    def on_update(self, mate: int, update: FilterUpdate) -> FilterAnswer:
        """Take in the subscriptions in a piece that a mate moves here."""
        if not self._server.space.holds_all([*update.gone, *update.added]):
            self._server.environment.drop(FilterUpdate, NO_BOX)
            return FilterAnswer(False)
        number = update.tree - PIECES
        held = self._zones.holder(number) == self._server.peer
        tree = self._trees.tree(self._zones.tree_of(number)) if held else None
        if tree is None:
            return FilterAnswer(False)
        inflow, boxes = self._moved.setdefault((mate, number), (Inflow(), {}))

        def add(box: Box) -> None:
            for covered in [other for other in boxes if box.covers(other) and other != box]:
                del boxes[covered]
                tree.routes.remove_own(mate, covered)
            boxes[box] = None
            tree.routes.add_own(mate, box)

        def remove(box: Box) -> None:
            boxes.pop(box, None)
            tree.routes.remove_own(mate, box)

        def clear() -> None:
            for box in boxes:
                tree.routes.remove_own(mate, box)
            boxes.clear()

        return FilterAnswer(inflow.take(update, clear, add, remove))

    def sort(self) -> None:
        """Give up after a while what came from former members, or lies in pieces of other servers."""
        for mate, number in self._moved:
            if mate in self._zones.mates and self._zones.holder(number) == self._server.peer:
                self._released_later.keep((mate, number))
            else:
                self._released_later.give_up((mate, number), partial(self._end, mate, number))

    def has_heard_all(self, number: int) -> bool:
        """Return whether each mate has told what it wants in a piece."""
        moved = [self._moved.get((mate, number)) for mate in self._zones.mates]
        return all(each is not None and each[0].heard for each in moved)

    @property
    def entries(self) -> int:
        """The number of subscriptions for which this server is the proxy."""
        return sum(len(boxes) for _, boxes in self._moved.values())

    def stop(self) -> None:
        """Cancel all releases, because the epoch is over."""
        self._released_later.stop()

    def _end(self, mate: int, number: int) -> None:
        _, boxes = self._moved.pop((mate, number))
        tree = self._trees.tree(self._zones.tree_of(number))
        if tree is not None:
            for box in boxes:
                tree.routes.remove_own(mate, box)
