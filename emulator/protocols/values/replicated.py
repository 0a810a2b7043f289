"""A store of values over any structured overlay: the peers closest to a key hold copies of its value.

It is DHash over Chord (Dabek, Kaashoek, Karger, Morris, Stoica: Wide-area cooperative storage with CFS, SOSP
2001) and PAST over Pastry (Rowstron, Druschel: Storage management and caching in PAST, SOSP 2001), in what
both have in common. The root of a key is the peer that the overlay delivers messages for it to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Final

from emulator.contract.gauges import Gauge
from emulator.contract.protocol import Application, Completion, Contact, Environment, Message, Overlay
from emulator.contract.system import OverlayKind, System
from emulator.contract.value_service import GET, PUT, SERVED, ValueService
from emulator.protocols.values.copies import Copies
from emulator.protocols.values.holders import Holders
from emulator.protocols.values.own_requests import OwnRequests
from emulator.protocols.values.parameters import ReplicatedParameters, parameters_over
from emulator.protocols.values.repair import Repair
from trellis.v1.values import (
    CopyOffer,
    CopyStored,
    FetchCopy,
    FetchedCopy,
    GetReply,
    GetRequest,
    PutDone,
    PutRequest,
    StoreCopy,
    StoredValue,
)

_PAPERS: Final = (
    "Dabek, Kaashoek, Karger, Morris, Stoica: Wide-area cooperative storage with CFS, SOSP 2001; "
    "Rowstron, Druschel: Storage management and caching in PAST, SOSP 2001"
)


class _Put:
    """A put at its root, while the other holders are asked to store copies."""

    __slots__ = ("copies", "hops", "number", "open", "origin")

    def __init__(self, number: int, origin: int, hops: int, others: int) -> None:
        self.number = number
        self.origin = origin
        self.hops = hops
        self.copies = 1
        self.open = others
        """The holders that have neither answered nor failed."""


class ReplicatedValues(ValueService):
    """One peer."""

    GAUGES: ClassVar = {
        "values": Gauge("Copies of values that the peer holds.", "copies"),
        "value_bytes": Gauge("Payload of these copies.", "bytes"),
    }

    def __init__(
        self,
        environment: Environment,
        parameters: ReplicatedParameters,
        create: Callable[[Environment], Overlay],
    ) -> None:
        """`create` makes this peer's part of the overlay from the environment of its channel."""
        super().__init__(environment)
        self._on_the_way = parameters.answer_on_the_way
        self._timeout = parameters.copy_timeout
        self._overlay = create(environment.channel("overlay"))
        self._overlay.carry(self, PutRequest, GetRequest, CopyOffer)
        self._copies = Copies()
        self._holders = Holders(self._overlay, parameters.replicas)
        self._repair = Repair(environment, self._overlay, parameters, self._copies, self._holders)
        self._puts = OwnRequests(environment, self._overlay, parameters.timeout, parameters.tries)
        self._gets = OwnRequests(environment, self._overlay, parameters.timeout, parameters.tries)
        environment.handle(PutDone, self._on_put_done)
        environment.handle(GetReply, self._on_get_reply)
        environment.serve(StoreCopy, self._on_store)
        environment.serve(FetchCopy, self._on_fetch)

    def start(self, contacts: Sequence[int]) -> None:
        self._overlay.start(contacts)
        self._repair.start()

    def stop(self, graceful: bool) -> None:
        if graceful:
            self._repair.leave()
        self._overlay.stop(graceful)

    def gauges(self) -> dict[str, float]:
        return {"values": float(len(self._copies)), "value_bytes": float(self._copies.bytes)}

    def put(self, number: int, key: int, version: int, payload: bytes) -> None:
        value = StoredValue(key, version, payload)
        self._puts.ask(number, key, PutRequest(number, self.environment.peer, value))

    def get(self, number: int, key: int) -> None:
        self._gets.ask(number, key, GetRequest(number, self.environment.peer, key))

    def forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        """End a get at the first holder that it comes to; let all other messages go on.

        Who need not hold its copy any more gets no updates, and does not answer.
        """
        if not isinstance(message, GetRequest) or not self._on_the_way:
            return True
        copy = self._copies.get(message.key)
        if copy is None or not self._holders.includes_me(message.key):
            return True
        self._answer(message, copy.value, hops)
        return False

    def deliver(self, key: int, message: Message, origin: Contact, hops: int) -> None:
        """Act as the root of the key."""
        if isinstance(message, PutRequest):
            self._store(message, hops)
        elif isinstance(message, GetRequest):
            copy = self._copies.get(message.key)
            if copy is not None:
                self._answer(message, copy.value, hops)
            else:
                self._fetch(message, hops, self._holders.others(message.key))
        elif isinstance(message, CopyOffer):
            self._repair.offered(message)

    def neighbour_changed(self, contact: Contact, joined: bool) -> None:
        self._repair.neighbours_changed()

    def _store(self, request: PutRequest, hops: int) -> None:
        """Keep the value, and have the other holders store copies."""
        value = request.value
        if value is None:
            self.environment.drop(PutRequest, "it has no value")
            return
        self._copies.keep(value, self.environment.now)
        others = self._holders.others(value.key)
        put = _Put(request.number, request.origin, hops, len(others))
        for peer in others:
            stored, failed = partial(self._on_stored, put), partial(self._counted, put)
            self.environment.request(peer, StoreCopy(value), self._timeout, stored, failed)
        if not others:
            self._tell_stored(put)

    def _on_stored(self, put: _Put, reply: Message) -> None:
        if isinstance(reply, CopyStored):
            put.copies += 1
        self._counted(put)

    def _counted(self, put: _Put) -> None:
        put.open -= 1
        if put.open == 0:
            self._tell_stored(put)

    def _tell_stored(self, put: _Put) -> None:
        done = PutDone(put.number, put.hops, put.copies)
        if put.origin == self.environment.peer:
            self._on_put_done(put.origin, done)
        else:
            self.environment.send(put.origin, done)

    def _on_put_done(self, sender: int, done: PutDone) -> None:
        if self._puts.answered(done.number):
            self.environment.deliver(Completion(PUT, done.number, done.hops, float(done.copies)))

    def _on_store(self, sender: int, message: StoreCopy) -> CopyStored | None:
        if message.value is None:
            self.environment.drop(StoreCopy, "it has no value")
            return None
        self._copies.keep(message.value, self.environment.now)
        return CopyStored()

    def _on_fetch(self, sender: int, message: FetchCopy) -> FetchedCopy:
        copy = self._copies.get(message.key)
        return FetchedCopy(None if copy is None else copy.value)

    def _fetch(self, request: GetRequest, hops: int, holders: list[int]) -> None:
        """Ask the holders for the value, one after the other; the root may not have got its copy yet."""
        if not holders:
            self._answer(request, None, hops)
            return
        fetched = partial(self._on_fetched, request, hops, holders[1:])
        failed = partial(self._fetch, request, hops, holders[1:])
        self.environment.request(holders[0], FetchCopy(request.key), self._timeout, fetched, failed)

    def _on_fetched(self, request: GetRequest, hops: int, others: list[int], reply: Message) -> None:
        if isinstance(reply, FetchedCopy) and reply.value is not None and reply.value.key == request.key:
            self._copies.keep(reply.value, self.environment.now)
            self._answer(request, reply.value, hops + 1)
        else:
            self._fetch(request, hops, others)

    def _answer(self, request: GetRequest, value: StoredValue | None, hops: int) -> None:
        if value is not None:
            self.environment.record(SERVED, 1.0)
        reply = GetReply(request.number, hops, value)
        if request.origin == self.environment.peer:
            self._on_get_reply(request.origin, reply)
        else:
            self.environment.send(request.origin, reply)

    def _on_get_reply(self, sender: int, reply: GetReply) -> None:
        if self._gets.answered(reply.number):
            version = 0 if reply.value is None else reply.value.version
            self.environment.deliver(Completion(GET, reply.number, reply.hops, float(version)))


def over(kind: OverlayKind) -> System:
    """Return the system that stores values over overlays of this kind."""

    def create(environment: Environment, parameters: Any) -> Application:
        return ReplicatedValues(environment, parameters, lambda part: kind.create(part, parameters.overlay))

    return System(
        f"values-{kind.name}",
        f"Values over {kind.called}",
        _PAPERS,
        parameters_over(kind.parameters),
        create,
        serves="values",
        takes_identifiers=True,
        invariants=kind.invariants,
    )
