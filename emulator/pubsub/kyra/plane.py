"""All that one server does for one epoch: its pieces of the event space, its trees, and moved subscriptions.

While one epoch follows another, both are there, and each event is routed by the one that it was published in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from emulator.overlays.cliques.measuring import Measuring
from emulator.overlays.cliques.view import View
from emulator.protocol import Environment
from emulator.pubsub.content.order import candidates
from emulator.pubsub.content.routes import FilterRoutes
from emulator.pubsub.content.space import Box, EventSpace, Values
from emulator.pubsub.content.streams import BoxStream, Inflow
from emulator.pubsub.content.trees import FilterTree, FilterTrees
from emulator.pubsub.kyra.epoch import Epoch, Piece
from emulator.pubsub.kyra.growth import Growth
from emulator.pubsub.kyra.lingering import Lingering
from emulator.pubsub.recent import Recent
from trellis.v1.cliques import CliqueRecord
from trellis.v1.filters import FilterAnswer, FilterUpdate
from trellis.v1.kyra import KyraLeaving

PIECES: Final = 1 << 20
"""Updates for a piece are for the table (epoch, this + the piece's number)."""
_HOPE: Final = 12.0
"""Seconds for which a server waits for its parent on a tree that was laid out to start too."""
_PREPARATION: Final = 9.0
"""Seconds after which a server routes the events in a piece, whatever it has heard by then."""
_AGAIN: Final = 1.0
"""Seconds after which subscriptions are offered again to a server that did not know that it has the piece."""


class _Feed:
    """The subscriptions here in one piece, at the server that has it: clipped first, then covered."""

    def __init__(
        self,
        piece: Piece,
        space: EventSpace,
        tell: Callable[[int, Box, bool], None],
        stream: BoxStream | None,
    ) -> None:
        self.piece = piece
        self.routes = FilterRoutes(piece.box, space.lows, space.highs, tell)
        self.routes.open(piece.holder)
        self.stream = stream

    def add(self, interest: int, box: Box) -> None:
        clipped = box.clip(self.piece.box)
        if clipped is not None:
            self.routes.add_own(interest, clipped)

    def remove(self, interest: int, box: Box) -> None:
        clipped = box.clip(self.piece.box)
        if clipped is not None:
            self.routes.remove_own(interest, clipped)


class Plane:
    """One epoch at one server."""

    def __init__(
        self,
        environment: Environment,
        space: EventSpace,
        epoch: Epoch,
        trees: FilterTrees,
        measuring: Measuring,
        patience: float,
        down: Recent,
        interests: Mapping[int, Box],
        given: tuple[list[Piece] | None, list[dict[int, int]] | None],
    ) -> None:
        """`interests` are the subscriptions here; `given` are pieces and parents that were laid out."""
        self._environment = environment
        self._space = space
        self.epoch = epoch
        self._trees = trees
        self._measuring = measuring
        self._patience = patience
        self._down = down
        self._interests = interests
        self._given_pieces, self._given_parents = given
        self._lingering = Lingering(environment)
        self._old_feeds: dict[int, _Feed] = {}
        """What this server wants itself in pieces that it had until a moment ago."""
        self._unprepared: dict[int, float] = {}
        """Pieces for which an event waits, and since when."""
        self.pieces: list[Piece] = []
        """Of this server's clique."""
        self._mates: list[int] = []
        self.growths: dict[int, Growth] = {}
        self._feeds: dict[int, _Feed] = {}
        self._inflows: dict[tuple[int, int], tuple[Inflow, set[Box]]] = {}
        """By sender and piece."""
        self._members: dict[int, list[set[int]]] = {}
        """Of each other clique, by its leader: the servers that are on each tree."""

    def tree(self, number: int) -> FilterTree | None:
        return self._trees.trees.get((self.epoch.number, number))

    def holder(self, values: Values) -> int | None:
        """The server of this clique that has the zone of an event; None while this server is in no clique."""
        number = self._number_of(values)
        return None if number is None else self.pieces[number].holder

    def had(self, values: Values) -> FilterTree | None:
        """The tree of an event whose zone this server had until a moment ago, if it is still there."""
        for feed in self._old_feeds.values():
            if feed.piece.box.has(values):
                return self.tree(feed.piece.tree)
        return None

    def prepared(self, values: Values) -> FilterTree | None:
        """The tree of an event whose zone this server has, as soon as it knows who wants the event.

        After `_PREPARATION` it is told anyway.
        """
        number = self._number_of(values)
        tree = None if number is None else self.tree(self.pieces[number].tree)
        if number is None or tree is None:
            return None
        if self._is_prepared(number, tree):
            self._unprepared.pop(number, None)
            return tree
        since = self._unprepared.setdefault(number, self._environment.now)
        return tree if self._environment.now - since > _PREPARATION else None

    def _is_prepared(self, number: int, tree: FilterTree) -> bool:
        growth = self.growths.get(self.pieces[number].tree)
        if not tree.informed or growth is None or (self._given_parents is None and not growth.placed):
            return False
        inflows = [self._inflows.get((mate, number)) for mate in self._mates]
        return all(inflow is not None and inflow[0].heard for inflow in inflows)

    def update(self, view: View | None) -> None:
        """The clique has other members or shares."""
        me, before = self._environment.peer, self._holders()
        self._mates = [] if view is None else [peer for peer in view.members if peer != me]
        if view is None:
            self.pieces = []
        elif self._given_pieces is None:
            self.pieces = self.epoch.pieces(view.members, view.ends)
        else:
            self.pieces = self._given_pieces
        now = self._holders()
        self._sort_inflows()
        if now == before:
            return
        for number in list(self._feeds):
            if self._feeds[number].piece.holder != now.get(number):
                self._end_feed(number)
        held = {self.pieces[number].tree for number, holder in now.items() if holder == me}
        for tree in sorted(held):
            self._join(tree)
        for tree in [tree for tree in self.growths if tree not in held]:
            self._give_up_tree(tree)
        for number in now:
            if number not in self._feeds:
                self._begin_feed(number, self.pieces[number])

    def _number_of(self, values: Values) -> int | None:
        for number, piece in enumerate(self.pieces):
            if piece.box.has(values) and self._holder(number) is not None:
                return number
        return None

    def _holder(self, number: int) -> int | None:
        """The member of this clique that has the piece."""
        holder = self.pieces[number].holder if number < len(self.pieces) else None
        return holder if holder == self._environment.peer or holder in self._mates else None

    def _holders(self) -> dict[int, int]:
        """The pieces that somebody of this clique has, by number."""
        holders = [(number, self._holder(number)) for number in range(len(self.pieces))]
        return {number: holder for number, holder in holders if holder is not None}

    def note_clique(self, before: CliqueRecord | None, now: CliqueRecord | None) -> None:
        """Another clique, or this server's own, came, went or changed."""
        if before is not None:
            self._members.pop(before.leader, None)
        if now is not None:
            servers: list[set[int]] = [set() for _ in range(self.epoch.trees)]
            for number, holder in enumerate(self.epoch.holders(now.members, now.ends)):
                servers[number // self.epoch.parts].add(holder)
            self._members[now.leader] = servers

    def grow(self) -> None:
        """Have the trees know their members as they are now."""
        me = self._environment.peer
        for tree, growth in self.growths.items():
            if self._given_parents is None:
                growth.update(sorted({me, *(p for servers in self._members.values() for p in servers[tree])}))

    def add(self, interest: int, box: Box) -> None:
        """A subscription came."""
        for feed in self._feeds.values():
            feed.add(interest, box)

    def remove(self, interest: int, box: Box) -> None:
        """A subscription went."""
        for feed in self._feeds.values():
            feed.remove(interest, box)

    def on_feed(self, sender: int, update: FilterUpdate) -> FilterAnswer:
        """A mate moves its subscriptions in a piece here."""
        number, me = update.tree - PIECES, self._environment.peer
        tree = self.tree(self.pieces[number].tree) if self._holder(number) == me else None
        if tree is None:
            return FilterAnswer(False)
        inflow, boxes = self._inflows.setdefault((sender, number), (Inflow(), set()))

        def add(box: Box) -> None:
            for covered in [other for other in boxes if box.covers(other) and other != box]:
                boxes.discard(covered)
                tree.routes.remove_own(sender, covered)
            boxes.add(box)
            tree.routes.add_own(sender, box)

        def remove(box: Box) -> None:
            boxes.discard(box)
            tree.routes.remove_own(sender, box)

        def clear() -> None:
            for box in list(boxes):
                remove(box)

        return FilterAnswer(inflow.take(update, clear, add, remove))

    def stop(self) -> None:
        """The epoch is over."""
        self._lingering.stop()
        for feed in self._feeds.values():
            if feed.stream is not None:
                feed.stream.end()
        for growth in self.growths.values():
            growth.stop()
        for epoch, tree in list(self._trees.trees):
            if epoch == self.epoch.number:
                self._trees.leave((epoch, tree))
        self.growths = {}

    @property
    def settled(self) -> bool:
        """Whether trees and proxies know all that this server wants."""
        feeds = all(feed.stream is None or feed.stream.settled for feed in self._feeds.values())
        trees = [self.tree(number) for number in self.growths]
        return bool(self.pieces) and feeds and all(tree is not None and tree.settled for tree in trees)

    @property
    def moved(self) -> int:
        """Subscriptions of other servers that this one is the proxy of."""
        return sum(len(boxes) for _, boxes in self._inflows.values())

    def _join(self, tree: int) -> None:
        if tree in self.growths:
            return
        table = self.epoch.number, tree
        joined = self.tree(tree)
        if joined is None:
            joined = self._trees.join(table, self.epoch.region(tree))
        self._lingering.keep(("tree", tree, 0))
        joined.links.closing = False
        self.growths[tree] = Growth(
            self._environment, table, joined.links, self._measuring, self._patience, self._down
        )
        if self._given_parents is not None:
            joined.links.aim(candidates(self._given_parents[tree], self._environment.peer), _HOPE)

    def _give_up_tree(self, tree: int) -> None:
        """Leave it when those below this server have found other parents."""
        table = self.epoch.number, tree
        self._trees.trees[table].links.closing = True
        for peer in self.growths.pop(tree).stop():
            self._environment.send(peer, KyraLeaving(*table))
        self._lingering.give_up(("tree", tree, 0), partial(self._trees.leave, table))

    def _begin_feed(self, number: int, piece: Piece) -> None:
        me, stream = self._environment.peer, None
        if piece.holder == me:
            tree = self.tree(piece.tree)
            assert tree is not None
            if self._lingering.keep(("feed", number, 0)):
                self._end_old_feed(number)
            tell = partial(_tell_own, tree, me)
        else:
            table = self.epoch.number, PIECES + number
            stream = self._trees.streams.to(piece.holder, table, partial(self._refused, number))
            tell = partial(_tell_holder, stream)
        feed = self._feeds[number] = _Feed(piece, self._space, tell, stream)
        for interest, box in self._interests.items():
            feed.add(interest, box)
        if stream is not None:
            # The holder waits for word of each mate, even of those who want nothing there.
            stream.begin()

    def _end_feed(self, number: int) -> None:
        """Another server has the piece, or nobody; if this one had it, it goes on a little longer."""
        feed = self._feeds.pop(number)
        if feed.stream is not None:
            feed.stream.end()
            return
        self._unprepared.pop(number, None)
        self._old_feeds[number] = feed
        self._lingering.give_up(("feed", number, 0), partial(self._end_old_feed, number))

    def _end_old_feed(self, number: int) -> None:
        feed = self._old_feeds.pop(number)
        tree = self.tree(feed.piece.tree)
        if tree is not None:
            for box in feed.routes.told(feed.piece.holder):
                tree.routes.remove_own(feed.piece.holder, box)

    def _refused(self, number: int) -> None:
        """The other server does not know yet, or not any more, that the piece is its own."""
        self._environment.set_timer(_AGAIN, partial(self._offer_again, number, self._feeds.get(number)))

    def _offer_again(self, number: int, refused: _Feed | None) -> None:
        if refused is not None and self._feeds.get(number) is refused:
            self._end_feed(number)
            self._begin_feed(number, self.pieces[number])

    def _sort_inflows(self) -> None:
        """Those of servers that left the clique, and of pieces that others have, go on a little longer."""
        for sender, number in self._inflows:
            key = "inflow", sender, number
            if sender in self._mates and self._holder(number) == self._environment.peer:
                self._lingering.keep(key)
            else:
                self._lingering.give_up(key, partial(self._end_inflow, sender, number))

    def _end_inflow(self, sender: int, number: int) -> None:
        _, boxes = self._inflows.pop((sender, number))
        tree = self.tree(self._tree_of(number))
        if tree is not None:
            for box in boxes:
                tree.routes.remove_own(sender, box)

    def _tree_of(self, number: int) -> int:
        """The tree for a piece."""
        given = self._given_pieces
        return number // self.epoch.parts if given is None else given[number].tree


def _tell_own(tree: FilterTree, me: int, holder: int, box: Box, there: bool) -> None:
    """This server has the piece itself."""
    if there:
        for covered, _ in tree.routes.own.covered(box, me):
            if covered != box:
                tree.routes.remove_own(me, covered)
        tree.routes.add_own(me, box)
    else:
        tree.routes.remove_own(me, box)


def _tell_holder(stream: BoxStream, holder: int, box: Box, there: bool) -> None:
    stream.change(box, there)
