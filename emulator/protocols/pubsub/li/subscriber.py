"""A peer's own subscriptions: installing, renewing and withdrawing them (sections 3.3 and 3.3.1).

A stored subscription ends unless its subscriber renews it. So a subscription that all copies have lost comes
back with the next renewal, and the subscriptions of a peer that crashes are gone after three periods.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final

from emulator.contract.protocol import Environment, Message, Overlay, RangeInterest, Timer
from emulator.protocols.pubsub.li.direct_messages import Post
from emulator.protocols.pubsub.li.node import with_end
from emulator.protocols.pubsub.li.parameters import LiParameters
from emulator.protocols.pubsub.li.pieces import matches, subscription_objects
from emulator.protocols.pubsub.li.probing import leaf_probe
from emulator.protocols.pubsub.li.space import Schema
from trellis.v1.content import InsertSub, InsertSubAck, ProbeSub, ProbeSubAck, SubscriptionObject

_RENEWALS: Final = 3
"""A subscription ends when it was not renewed for this many periods."""


class _Piece:
    """One of the objects that are stored for a subscription."""

    __slots__ = ("leaf", "object", "pending", "timer")

    def __init__(self, object: SubscriptionObject) -> None:
        self.object = object
        self.leaf: tuple[int, int] | None = None
        """The leaf that the object is stored at or is to be stored at, as (peer, position)."""
        self.pending = True
        """Whether the object's last version is not known to be stored."""
        self.timer: Timer | None = None


class Subscriber:
    """The subscriptions of one peer."""

    def __init__(
        self,
        environment: Environment,
        overlay: Overlay,
        post: Post,
        schema: Schema,
        parameters: LiParameters,
    ) -> None:
        self._environment = environment
        self._overlay = overlay
        self._post = post
        self._schema = schema
        self._parameters = parameters
        self._absent_matches = parameters.absent == "match"
        self._started = False
        self._begun = False
        # The numbers are new ones, should the peer have been up before.
        self._last_sid = environment.session << 16
        self._interests: dict[int, RangeInterest] = {}
        """The subscriptions of this peer by subscription identifier (sid)."""
        self._pieces: dict[tuple[int, int], _Piece] = {}
        """The stored objects by sid and piece, also withdrawn ones until the withdrawal is acknowledged."""
        post.handle(ProbeSubAck, self._on_probe_ack)

    @property
    def pending(self) -> int:
        """The number of objects that are not known to be installed or withdrawn yet."""
        return sum(piece.pending for piece in self._pieces.values())

    def start(self) -> None:
        """Have each piece wait for the overlay by itself from now on, in the trace of its operation."""
        self._started = True
        self._environment.every(self._parameters.renewal, self._renew)

    def begin(self) -> None:
        """Install what was asked for before the start, now that the overlay is ready."""
        self._begun = True
        for piece in list(self._pieces.values()):
            if piece.timer is None:
                self._install(piece)

    def add(self, interest: RangeInterest) -> None:
        """Install a subscription. Raises ValueError if it does not fit the schema."""
        sid = self._last_sid + 1
        peer, draw = self._environment.peer, self._environment.random
        objects = subscription_objects(interest, peer, sid, self._schema, self._parameters, draw)
        self._last_sid = sid
        self._interests[sid] = interest
        for object in objects:
            piece = self._pieces[sid, object.piece] = _Piece(object)
            if self._started:
                self._install(piece)

    def take_back(self, interest: RangeInterest) -> None:
        """Withdraw one subscription with an equal interest, if there is one."""
        sid = next((sid for sid, held in self._interests.items() if held == interest), None)
        if sid is None:
            return
        del self._interests[sid]
        for key in [key for key in self._pieces if key[0] == sid]:
            piece = self._pieces[key]
            if self._begun:
                self._change(piece, withdrawn=True)
                self._install(piece)
            else:
                self._stop(piece)
                del self._pieces[key]

    def matching(self, sids: Iterable[int], values: Mapping[str, float]) -> bool:
        """Return whether one of these subscriptions is held and, before it was widened, matches."""
        for sid in sids:
            interest = self._interests.get(sid)
            if interest is not None and matches(interest.ranges, values, self._absent_matches):
                return True
        return False

    def not_held(self, sids: Iterable[int]) -> list[int]:
        """Return the sids of which this peer has no subscription."""
        return [sid for sid in sids if sid not in self._interests]

    def leave(self) -> None:
        """Ask for the withdrawal of everything without waiting for answers."""
        for piece in self._pieces.values():
            self._stop(piece)
            if piece.leaf is not None:
                self._change(piece, withdrawn=True)
                insert = InsertSub(piece.leaf[1], piece.object)
                self._post.request(piece.leaf[0], insert, math.inf, lambda _: None, lambda: None)

    def _renew(self) -> None:
        for piece in list(self._pieces.values()):
            if self._begun and not piece.pending:
                self._change(piece, withdrawn=False)
                self._install(piece)

    def _change(self, piece: _Piece, withdrawn: bool) -> None:
        """Make a new version of the object."""
        until = math.ceil(self._environment.now + _RENEWALS * self._parameters.renewal)
        piece.object = with_end(piece.object, until, withdrawn)
        piece.pending = True

    def _stop(self, piece: _Piece) -> None:
        if piece.timer is not None:
            piece.timer.cancel()
            piece.timer = None

    def _install(self, piece: _Piece, hops: int = 0) -> None:
        """Send the object's last version to its leaf, or look for the leaf, until it is stored."""
        self._stop(piece)
        if not self._begun:
            self._wait(piece, self._parameters.settling)
        elif piece.leaf is None:
            self._wait(piece, self._parameters.retry)
            self._change(piece, piece.object.withdrawn)
            self._probe(piece.object)
        else:
            peer, position = piece.leaf
            piece.timer = self._post.request(
                peer,
                InsertSub(position, piece.object, hops + 1),
                self._parameters.patience,
                lambda ack: self._on_insert_ack(piece, ack),
                lambda: self._look_again(piece),
            )

    def _wait(self, piece: _Piece, seconds: float) -> None:
        piece.timer = self._environment.set_timer(seconds, lambda: self._install(piece))

    def _look_again(self, piece: _Piece) -> None:
        """Look for the leaf again: its home does not answer, or another peer is the home by now."""
        piece.leaf = None
        self._install(piece)

    def _probe(self, object: SubscriptionObject) -> None:
        """Look for the leaf from a node at a random level (program 3.2)."""
        index = object.attributes[0]
        low, high = object.lows[0], object.highs[0]
        attribute, draw = self._schema.attributes[index], self._environment.random
        position = leaf_probe(attribute, low, high, self._parameters, draw)
        probe = ProbeSub(index, position, low, high, object.subscriber, object.sid, object.piece)
        self._overlay.route(self._schema.key(index, position), probe)

    def _on_probe_ack(self, sender: int, ack: ProbeSubAck) -> None:
        piece = self._pieces.get((ack.sid, ack.piece))
        if piece is not None and piece.pending and piece.leaf is None:
            piece.leaf = sender, ack.position
            self._install(piece, ack.hops)

    def _on_insert_ack(self, piece: _Piece, ack: Message) -> None:
        if not isinstance(ack, InsertSubAck):
            self._environment.drop(type(ack), "it answers something else")
            self._look_again(piece)
            return
        if not ack.stored:
            piece.leaf = None
            self._wait(piece, self._parameters.settling)
            return
        piece.pending = False
        if piece.object.withdrawn:
            self._pieces.pop((piece.object.sid, piece.object.piece), None)
