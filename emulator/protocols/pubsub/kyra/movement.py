"""Subscription movement: a server moves its subscriptions to the servers of the clique that have the zones.

A subscription is clipped to each piece first. A subscription that another one of the same server covers in a
piece is not told there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from emulator.contract.protocol import Timer
from emulator.protocols.pubsub.content.space import Box, Values
from emulator.protocols.pubsub.content.streams import BoxStream
from emulator.protocols.pubsub.content.trees import FilterTree
from emulator.protocols.pubsub.kyra.delayed_release import DelayedRelease
from emulator.protocols.pubsub.kyra.epoch import Epoch, Piece
from emulator.protocols.pubsub.kyra.server_context import ServerContext
from emulator.protocols.pubsub.kyra.tree_membership import TreeMembership
from emulator.protocols.pubsub.kyra.zone_assignment import Holder, ZoneAssignment

PIECES: Final = 1 << 20
"""An update for a piece names the table (epoch, PIECES + the piece's number)."""
_AGAIN: Final = 1.0
"""Subscriptions are offered again after this many seconds to a server that did not know that it has the
piece."""


class _Feed:
    """This server's subscriptions in one piece, at the server that has it.

    They are few and searched one by one.
    """

    def __init__(
        self, piece: Piece, holder: Holder, tell: Callable[[Box, bool], None], stream: BoxStream | None
    ) -> None:
        self.piece = piece
        self.holder = holder
        self.told: dict[Box, None] = {}
        """The boxes that the holder was told; none of them covers another one."""
        self.stream = stream
        self._tell = tell
        self._wanted: dict[int, Box] = {}
        """The boxes that this server wants in the piece, by interest."""

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
        """Tell the holder of the box, unless the holder knows a box that covers it."""
        if any(known.covers(box) for known in self.told):
            return
        for covered in [known for known in self.told if box.covers(known)]:
            # The holder drops covered boxes by itself.
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
        """The subscriptions in each piece, by the piece's number."""
        self._old_feeds: dict[int, _Feed] = {}
        """This server's own subscriptions in pieces that it had until a moment ago, by the piece's number."""
        self._refusals: dict[_Feed, Timer] = {}
        """The calls that will offer refused subscriptions again."""

    def add(self, interest: int, box: Box) -> None:
        """Add a subscription."""
        for feed in self._feeds.values():
            feed.add(interest, box)

    def remove(self, interest: int) -> None:
        """Remove a subscription."""
        for feed in self._feeds.values():
            feed.remove(interest)

    def end_others(self, holders: Mapping[int, Holder]) -> None:
        """Stop moving subscriptions to servers that are no longer the holders of their pieces."""
        for number in list(self._feeds):
            if self._feeds[number].holder != holders.get(number):
                self._end(number)

    def begin_all(self, holders: Mapping[int, Holder]) -> None:
        """Start moving subscriptions to holders to which they were not moved yet."""
        for number, holder in holders.items():
            if number not in self._feeds:
                self._begin(number, holder)

    def had(self, values: Values) -> FilterTree | None:
        """Return the tree of an event whose piece this server had until a moment ago, None without one."""
        for feed in self._old_feeds.values():
            if feed.piece.box.has(values):
                return self._trees.tree(feed.piece.tree)
        return None

    @property
    def settled(self) -> bool:
        """Whether the holders of all pieces know all subscriptions."""
        return all(feed.stream is None or feed.stream.settled for feed in self._feeds.values())

    def stop(self) -> None:
        """End the movement, because the epoch is over."""
        self._released_later.stop()
        for feed in self._feeds.values():
            if feed.stream is not None:
                feed.stream.end()
        for timer in self._refusals.values():
            timer.cancel()
        self._feeds.clear()
        self._old_feeds.clear()
        self._refusals.clear()

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
            # The holder waits until each mate has told something, even a mate that wants nothing there.
            stream.begin()

    def _end(self, number: int) -> None:
        """Stop telling a piece's holder. A piece that this server had itself goes on a little longer."""
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
        """Offer again later: the other server does not know yet, or no longer, that it has the piece."""
        refused = self._feeds.get(number)
        if refused is not None and refused not in self._refusals:
            again = partial(self._offer_again, number, refused)
            self._refusals[refused] = self._server.environment.set_timer(_AGAIN, again)

    def _offer_again(self, number: int, refused: _Feed) -> None:
        del self._refusals[refused]
        if self._feeds.get(number) is refused:
            self._end(number)
            self._begin(number, refused.holder)


def _tell_own(tree: FilterTree, me: int, box: Box, there: bool) -> None:
    """Tell a change to this server's own tree, because it has the piece itself."""
    if there:
        for covered, _ in tree.routes.own.covered(box, me):
            if covered != box:
                tree.routes.remove_own(me, covered)
        tree.routes.add_own(me, box)
    else:
        tree.routes.remove_own(me, box)
