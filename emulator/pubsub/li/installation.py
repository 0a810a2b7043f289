"""A peer's own subscriptions: installing them and taking them back (sections 3.3 and 3.3.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from google.protobuf.message import Message
from trellis.v1.content_pb2 import (
    InsertSub,
    InsertSubAck,
    ProbeSub,
    ProbeSubAck,
    RemoveSub,
    RemoveSubAck,
    SubscriptionObject,
)

from emulator.protocol import Environment, Handler, RangeInterest, Timer
from emulator.pubsub.li.parameters import LiParameters
from emulator.pubsub.li.pieces import matches, subscription_objects
from emulator.pubsub.li.probing import leaf_probe
from emulator.pubsub.li.space import Schema
from emulator.pubsub.li.wire import Wire

_Piece = tuple[int, int]
"""(sid, piece)"""


class _Request:
    """A piece on its way to its leaf, or out of it."""

    __slots__ = ("object", "removing", "timer")

    def __init__(self, object: SubscriptionObject, removing: bool) -> None:
        self.object = object
        self.removing = removing
        self.timer: Timer | None = None


class Subscriptions:
    """What one peer asks for."""

    def __init__(
        self, environment: Environment, wire: Wire, schema: Schema, parameters: LiParameters
    ) -> None:
        self._environment = environment
        self._wire = wire
        self._schema = schema
        self._parameters = parameters
        self._absent_matches = parameters.absent == "match"
        self._started = False
        self._begun = False
        # The clock makes the numbers new ones, should the peer have been up before.
        self._next_sid = 1 + int(environment.now * 1000)
        self._held: dict[int, tuple[RangeInterest, Sequence[SubscriptionObject]]] = {}
        self._requests: dict[_Piece, _Request] = {}

    def handlers(self) -> dict[type[Message], Handler]:
        return {
            ProbeSubAck: self._on_probe_ack,
            InsertSubAck: self._on_insert_ack,
            RemoveSubAck: self._on_remove_ack,
        }

    @property
    def pending(self) -> int:
        """Pieces that are not known to be installed or removed yet."""
        return len(self._requests)

    def start(self) -> None:
        """From here on each request waits for the overlay by itself, in the trace of its operation."""
        self._started = True

    def begin(self) -> None:
        """The overlay is ready: install what was asked for before the start."""
        self._begun = True
        for piece, request in list(self._requests.items()):
            if request.timer is None:
                self._probe(piece)

    def add(self, interest: RangeInterest) -> None:
        """Install a subscription. Raises ValueError if it does not fit the schema."""
        sid = self._next_sid
        self._next_sid += 1
        objects = subscription_objects(
            interest, self._wire.peer, sid, self._schema, self._parameters, self._environment.random
        )
        self._held[sid] = interest, objects
        self._request(objects, removing=False)

    def take_back(self, interest: RangeInterest) -> None:
        """Remove one subscription with an equal interest, if there is one."""
        sid = next((sid for sid, held in self._held.items() if held[0] == interest), None)
        if sid is not None:
            _, objects = self._held.pop(sid)
            self._request(objects, removing=True)

    def matching(self, sids: Iterable[int], values: Mapping[str, float]) -> bool:
        """Whether one of these subscriptions is held and, before it was widened, matches."""
        for sid in sids:
            held = self._held.get(sid)
            if held is not None and matches(held[0].ranges, values, self._absent_matches):
                return True
        return False

    def not_held(self, sids: Iterable[int]) -> list[int]:
        """Those of which there is no subscription here."""
        held = self._held
        return [sid for sid in sids if sid not in held]

    def leave(self) -> None:
        """Ask for the removal of everything without waiting for answers."""
        for _, objects in self._held.values():
            for object in objects:
                position = self._random_node(object)
                key = self._schema.key(object.attributes[0], position)
                self._wire.route(key, removal(object, position))

    def _request(self, objects: Sequence[SubscriptionObject], removing: bool) -> None:
        for object in objects:
            piece = object.sid, object.piece
            former = self._requests.pop(piece, None)
            if former is not None and former.timer is not None:
                former.timer.cancel()
            if not (removing and not self._begun):
                self._requests[piece] = _Request(object, removing)
        if self._started:
            for object in objects:
                self._probe((object.sid, object.piece))

    def _probe(self, piece: _Piece) -> None:
        """Program 3.2; again and again, each time from another level, until there is an answer."""
        request = self._requests.get(piece)
        if request is None:
            return
        wait = self._parameters.retry if self._begun else self._parameters.settling
        request.timer = self._environment.set_timer(wait, lambda: self._probe(piece))
        if not self._begun:
            return
        object = request.object
        position = self._random_node(object)
        probe = ProbeSub(
            attribute=object.attributes[0],
            position=position,
            low=object.lows[0],
            high=object.highs[0],
            subscriber=object.subscriber,
            sid=object.sid,
            piece=object.piece,
        )
        self._wire.route(self._schema.key(object.attributes[0], position), probe)

    def _random_node(self, object: SubscriptionObject) -> int:
        attribute = self._schema.attributes[object.attributes[0]]
        x, y = object.lows[0], object.highs[0]
        return leaf_probe(attribute, x, y, self._parameters, self._environment.random)

    def _on_probe_ack(self, sender: int, message: ProbeSubAck) -> None:
        request = self._requests.get((message.sid, message.piece))
        if request is None:
            return
        if request.removing:
            self._wire.send(sender, removal(request.object, message.position))
        else:
            insert = InsertSub(position=message.position, subscription=request.object, hops=message.hops + 1)
            self._wire.send(sender, insert)

    def _on_insert_ack(self, sender: int, message: InsertSubAck) -> None:
        self._answered((message.sid, message.piece), removing=False)

    def _on_remove_ack(self, sender: int, message: RemoveSubAck) -> None:
        self._answered((message.sid, message.piece), removing=True)

    def _answered(self, piece: _Piece, removing: bool) -> None:
        request = self._requests.get(piece)
        if request is not None and request.removing == removing:
            del self._requests[piece]
            if request.timer is not None:
                request.timer.cancel()


def removal(object: SubscriptionObject, position: int) -> RemoveSub:
    """The request to take a subscription out of the leaf at or near `position`."""
    return RemoveSub(
        attribute=object.attributes[0],
        position=position,
        low=object.lows[0],
        high=object.highs[0],
        subscriber=object.subscriber,
        sid=object.sid,
        piece=object.piece,
    )
