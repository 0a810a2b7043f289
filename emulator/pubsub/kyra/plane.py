"""All that one server does for one epoch: its pieces of the event space, its trees, and moved subscriptions.

While one epoch follows another, both are there, and each event is routed by the one that it was published in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
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
from emulator.pubsub.recent import Recent
from trellis.v1.cliques import CliqueRecord
from trellis.v1.filters import FilterAnswer, FilterUpdate

PIECES: Final = 1 << 20
"""Updates for a piece are for the table (epoch, this + the piece's number)."""
_HOPE: Final = 12.0
"""Seconds for which a server waits for its parent on a tree that was laid out to start too."""
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
        self.pieces: list[Piece] = []
        """Of this server's clique."""
        self.growths: dict[int, Growth] = {}
        self._feeds: dict[int, _Feed] = {}
        self._inflows: dict[tuple[int, int], tuple[Inflow, set[Box]]] = {}
        """By sender and piece."""
        self._members: dict[int, list[set[int]]] = {}
        """Of each other clique, by its leader: the servers that are on each tree."""

    @property
    def own(self) -> list[Piece]:
        """The pieces that this server has."""
        me = self._environment.peer
        return [piece for piece in self.pieces if piece.holder == me]

    def tree(self, number: int) -> FilterTree | None:
        return self._trees.trees.get((self.epoch.number, number))

    def piece_of(self, values: Values) -> Piece | None:
        """The piece of this server's clique that an event is in; None while it is in no clique."""
        for piece in self.pieces:
            if piece.box.has(values):
                return piece
        return None

    def update(self, view: View | None) -> None:
        """The clique has other members or shares."""
        if self._given_pieces is not None:
            members = set() if view is None else set(view.members)
            pieces = [piece for piece in self._given_pieces if piece.holder in members]
        else:
            pieces = [] if view is None else self.epoch.pieces(view.members, view.ends)
        me, before = self._environment.peer, self.pieces
        if [(p.tree, p.box, p.holder) for p in before] == [(p.tree, p.box, p.holder) for p in pieces]:
            self._forget_departed(view)
            return
        self.pieces = pieces
        for number in list(self._feeds):
            feed = self._feeds[number]
            same = number < len(pieces) and pieces[number].box == feed.piece.box
            if not same or pieces[number].holder != feed.piece.holder:
                self._end_feed(number)
        held = {piece.tree for piece in self.own}
        for tree in sorted(held):
            if self.tree(tree) is None:
                self._join(tree)
        for sender, number in list(self._inflows):
            if (
                number >= len(pieces)
                or pieces[number].holder != me
                or before[number].box != pieces[number].box
            ):
                self._end_inflow(sender, number)
        self._forget_departed(view)
        for tree in [tree for tree in self.growths if tree not in held]:
            del self.growths[tree]
            self._trees.leave((self.epoch.number, tree))
        for number, piece in enumerate(pieces):
            if number not in self._feeds:
                self._begin_feed(number, piece)

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
        if number >= len(self.pieces) or self.pieces[number].holder != me:
            return FilterAnswer(False)
        tree = self.tree(self.pieces[number].tree)
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
        for number in list(self._feeds):
            self._end_feed(number)
        for tree in list(self.growths):
            self._trees.leave((self.epoch.number, tree))
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
        table = self.epoch.number, tree
        joined = self._trees.join(table, self.epoch.region(tree))
        self.growths[tree] = Growth(
            self._environment, table, joined.links, self._measuring, self._patience, self._down
        )
        if self._given_parents is not None:
            joined.links.aim(candidates(self._given_parents[tree], self._environment.peer), _HOPE)

    def _begin_feed(self, number: int, piece: Piece) -> None:
        me, stream = self._environment.peer, None
        if piece.holder == me:
            tree = self.tree(piece.tree)
            assert tree is not None
            tell = partial(_tell_own, tree, me)
        else:
            table = self.epoch.number, PIECES + number
            stream = self._trees.streams.to(piece.holder, table, partial(self._refused, number))
            tell = partial(_tell_holder, stream)
        feed = self._feeds[number] = _Feed(piece, self._space, tell, stream)
        for interest, box in self._interests.items():
            feed.add(interest, box)

    def _end_feed(self, number: int) -> None:
        feed = self._feeds.pop(number)
        if feed.stream is not None:
            feed.stream.end()
            return
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

    def _end_inflow(self, sender: int, number: int) -> None:
        _, boxes = self._inflows.pop((sender, number))
        for tree in [self.tree(number) for number in self.growths]:
            if tree is not None:
                for box in boxes:
                    tree.routes.remove_own(sender, box)

    def _forget_departed(self, view: View | None) -> None:
        """Servers that left the clique want nothing of it any more."""
        members: Iterable[int] = () if view is None else view.members
        for sender, number in [key for key in self._inflows if key[0] not in members]:
            self._end_inflow(sender, number)


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
