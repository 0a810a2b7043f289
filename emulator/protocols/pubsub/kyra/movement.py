"""Subscription movement: what is wanted here goes to the servers of the clique that have the zones.

A subscription is clipped to each piece first, and what others of the same server cover there stays untold.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from emulator.protocols.pubsub.content.space import Box, Values
from emulator.protocols.pubsub.content.streams import BoxStream
from emulator.protocols.pubsub.content.trees import FilterTree
from emulator.protocols.pubsub.kyra.delayed_release import DelayedRelease
from emulator.protocols.pubsub.kyra.epoch import Epoch, Piece
from emulator.protocols.pubsub.kyra.server_context import ServerContext
from emulator.protocols.pubsub.kyra.tree_membership import TreeMembership
from emulator.protocols.pubsub.kyra.zone_assignment import Holder, ZoneAssignment

PIECES: Final = 1 << 20
"""Updates for a piece are for the table (epoch, this + the piece's number)."""
_AGAIN: Final = 1.0
"""Seconds after which subscriptions are offered again to a server that did not know that it has the piece."""


class _Feed:
    """The subscriptions here in one piece, at the server that has it. They are few: it looks at each."""

    def __init__(
        self, piece: Piece, holder: Holder, tell: Callable[[Box, bool], None], stream: BoxStream | None
    ) -> None:
        self.piece = piece
        self.holder = holder
        self.told: dict[Box, None] = {}
        """None of them covers another one."""
        self.stream = stream
        self._tell = tell
        self._wanted: dict[int, Box] = {}
        """By interest."""

    def add(self, interest: int, box: Box) -> None:
        clipped = box.clip(self.piece.box)
        if clipped is not None:
            self._wanted[interest] = clipped
            self._offer(clipped)

    def remove(self, interest: int) -> None:
        clipped = self._wanted.pop(interest, None)
        if clipped in self.told and clipped not in self._wanted.values():
            del self.told[clipped]
            self._tell(clipped, False)
            for box in self._wanted.values():
                self._offer(box)

    def _offer(self, box: Box) -> None:
        """Tell the holder unless it knows a box that covers this one."""
        if any(known.covers(box) for known in self.told):
            return
        for covered in [known for known in self.told if box.covers(known)]:
            # The holder drops them by itself.
            del self.told[covered]
        self.told[box] = None
        self._tell(box, True)


class Movement:
    """One server's subscriptions in one epoch."""

    def __init__(
        self, server: ServerContext, epoch: Epoch, zones: ZoneAssignment, trees: TreeMembership
    ) -> None:
        self._server = server
        self._epoch = epoch
        self._zones = zones
        self._trees = trees
        self._released_later = DelayedRelease(server.environment)
        self._feeds: dict[int, _Feed] = {}
        """By piece."""
        self._old_feeds: dict[int, _Feed] = {}
        """What this server wants itself in pieces that it had until a moment ago."""

    def add(self, interest: int, box: Box) -> None:
        """A subscription came."""
        for feed in self._feeds.values():
            feed.add(interest, box)

    def remove(self, interest: int) -> None:
        """A subscription went."""
        for feed in self._feeds.values():
            feed.remove(interest)

    def end_others(self, holders: Mapping[int, Holder]) -> None:
        """Move nothing any more to servers that are not these holders of the pieces."""
        for number in list(self._feeds):
            if self._feeds[number].holder != holders.get(number):
                self._end(number)

    def begin_all(self, holders: Mapping[int, Holder]) -> None:
        """Move what is wanted to the holders to whom it was not moved yet."""
        for number, holder in holders.items():
            if number not in self._feeds:
                self._begin(number, holder)

    def had(self, values: Values) -> FilterTree | None:
        """The tree of an event whose piece this server had until a moment ago, if it is still there."""
        for feed in self._old_feeds.values():
            if feed.piece.box.has(values):
                return self._trees.tree(feed.piece.tree)
        return None

    @property
    def settled(self) -> bool:
        """Whether the holders know all."""
        return all(feed.stream is None or feed.stream.settled for feed in self._feeds.values())

    def stop(self) -> None:
        """The epoch is over."""
        self._released_later.stop()
        for feed in self._feeds.values():
            if feed.stream is not None:
                feed.stream.end()

    def _begin(self, number: int, holder: Holder) -> None:
        me, stream = self._server.peer, None
        tell: Callable[[Box, bool], None]
        piece = self._zones.pieces[number]
        if piece.holder == me:
            tree = self._trees.tree(piece.tree)
            assert tree is not None
            if self._released_later.keep(number):
                self._end_old(number)
            tell = partial(_tell_own, tree, me)
        else:
            table = self._epoch.number, PIECES + number
            stream = self._server.trees.streams.to(piece.holder, table, partial(self._refused, number))
            tell = stream.change
        feed = self._feeds[number] = _Feed(piece, holder, tell, stream)
        for interest, box in self._server.interests.boxes.items():
            feed.add(interest, box)
        if stream is not None:
            # The holder waits for word of each mate, even of those who want nothing there.
            stream.begin()

    def _end(self, number: int) -> None:
        """Another server has the piece, or nobody; if this one had it, it goes on a little longer."""
        feed = self._feeds.pop(number)
        if feed.stream is not None:
            feed.stream.end()
            return
        self._old_feeds[number] = feed
        self._released_later.give_up(number, partial(self._end_old, number))

    def _end_old(self, number: int) -> None:
        feed = self._old_feeds.pop(number)
        tree = self._trees.tree(feed.piece.tree)
        if tree is not None:
            for box in feed.told:
                tree.routes.remove_own(feed.piece.holder, box)

    def _refused(self, number: int) -> None:
        """The other server does not know yet, or not any more, that the piece is its own."""
        again = partial(self._offer_again, number, self._feeds.get(number))
        self._server.environment.set_timer(_AGAIN, again)

    def _offer_again(self, number: int, refused: _Feed | None) -> None:
        if refused is not None and self._feeds.get(number) is refused:
            self._end(number)
            self._begin(number, refused.holder)


def _tell_own(tree: FilterTree, me: int, box: Box, there: bool) -> None:
    """This server has the piece itself."""
    if there:
        for covered, _ in tree.routes.own.covered(box, me):
            if covered != box:
                tree.routes.remove_own(me, covered)
        tree.routes.add_own(me, box)
    else:
        tree.routes.remove_own(me, box)
