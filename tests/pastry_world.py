"""A network of Pastry peers with latencies, crashes and refused connections, on a clock of its own."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable, Sequence
from itertools import count

from google.protobuf.message import Message
from trellis.v1.overlay_pb2 import LookupRequest

from emulator import identifiers
from emulator.identifiers import HALF, MASK
from emulator.overlays.pastry import Pastry, PastryParameters
from emulator.protocol import Contact, Handler, Outcome

REFUSAL = 2.0
"""Seconds until a sender learns that its message reached nobody."""


class WorldTimer:
    def __init__(self, place: Place, callback: Callable[[], None], period: float | None) -> None:
        self.place = place
        self.callback: Callable[[], None] | None = callback
        self.period = period

    def cancel(self) -> None:
        self.callback = None

    def hasten(self) -> None:
        self.place.schedule(0.0, self)


class Place:
    """Where a peer runs; its environment and its application."""

    def __init__(self, world: PastryWorld, peer: int) -> None:
        self.world = world
        self.self_contact = Contact(peer)
        self.random = random.Random(f"{world.seed}/{peer}/{world.now}")
        self.up = True
        self.sent = 0
        self.updates: list[tuple[int, bool]] = []
        self.handlers: dict[type[Message], Handler] = {}
        self.pastry = Pastry(self, world.parameters)
        self.pastry.application = Upcalls(self)
        self.handlers = self.pastry.handlers()

    @property
    def now(self) -> float:
        return self.world.now

    def send(self, peer: int, message: Message) -> None:
        self.sent += 1
        self.world.carry(self, peer, message)

    def set_timer(self, delay: float, callback: Callable[[], None]) -> WorldTimer:
        timer = WorldTimer(self, callback, None)
        self.schedule(delay, timer)
        return timer

    def every(self, period: float, callback: Callable[[], None]) -> WorldTimer:
        timer = WorldTimer(self, callback, period)
        self.schedule(self.random.random() * period, timer)
        return timer

    def find_contacts(self, callback: Callable[[Sequence[Contact]], None]) -> None:
        self.set_timer(0.1, lambda: callback(self.world.contacts(self.self_contact.peer)))

    def deliver(self, outcome: Outcome) -> None:
        raise AssertionError("an overlay delivers to its application")

    def schedule(self, delay: float, timer: WorldTimer) -> None:
        self.world.at(self.now + delay, lambda: self._fire(timer))

    def _fire(self, timer: WorldTimer) -> None:
        callback = timer.callback
        if self.up and callback is not None:
            if timer.period is None:
                timer.callback = None
            else:
                self.schedule(timer.period, timer)
            callback()


class Upcalls:
    """The overlay's application at a place."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        return True

    def deliver(self, key: int, message: Message, origin: int, hops: int) -> None:
        assert isinstance(message, LookupRequest)
        place = self.place
        place.world.arrivals.append((message.number, place.self_contact.peer, hops, place.now))

    def update(self, peer: int, joined: bool) -> None:
        self.place.updates.append((peer, joined))


class PastryWorld:
    """Peers on a plane whose side takes `side` seconds to cross one way."""

    def __init__(
        self,
        seed: int = 0,
        parameters: PastryParameters | None = None,
        side: float = 0.1,
        loss: float = 0.0,
    ) -> None:
        self.now = 0.0
        self.seed = seed
        self.parameters = parameters or PastryParameters()
        self.side = side
        self.loss = loss
        self.random = random.Random(seed)
        self.places: dict[int, Place] = {}
        """Those that are up."""
        self.arrivals: list[tuple[int, int, int, float]] = []
        """(number, peer, hops, time) of lookups, where they ended."""
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._positions: dict[int, tuple[float, float]] = {}

    def at(self, time: float, call: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (time, next(self._order), call))

    def contacts(self, peer: int) -> list[Contact]:
        others = [other for other in self.places if other != peer]
        return [Contact(other) for other in self.random.sample(others, min(3, len(others)))]

    def delay(self, a: int, b: int) -> float:
        """Seconds one way."""
        return 0.001 + math.dist(self._position(a), self._position(b))

    def carry(self, sender: Place, receiver: int, message: Message) -> None:
        if self.loss and self.random.random() < self.loss:
            return
        number = sender.self_contact.peer

        def arrive() -> None:
            place = self.places.get(receiver)
            if place is not None:
                place.handlers[type(message)](number, message)
            else:
                self.at(self.now + REFUSAL, refuse)

        def refuse() -> None:
            if sender.up:
                sender.pastry.on_unreachable(receiver)

        self.at(self.now + self.delay(number, receiver), arrive)

    def _position(self, peer: int) -> tuple[float, float]:
        if peer not in self._positions:
            draw = random.Random(f"{self.seed}/position/{peer}")
            self._positions[peer] = (draw.random() * self.side, draw.random() * self.side)
        return self._positions[peer]

    def join(self, peer: int) -> None:
        contacts = self.contacts(peer)
        place = self.places[peer] = Place(self, peer)
        place.pastry.start(contacts)

    def leave(self, peer: int, graceful: bool) -> None:
        place = self.places[peer]
        place.pastry.stop(graceful)
        place.up = False
        del self.places[peer]

    def lookup(self, number: int, peer: int, key: int) -> None:
        self.places[peer].pastry.route(key, LookupRequest(number=number))

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while self._queue and self._queue[0][0] <= end:
            self.now, _, call = heapq.heappop(self._queue)
            call()
        self.now = end

    def root(self, key: int) -> int:
        return min(self.places, key=lambda peer: identifiers.distance(identifiers.of_peer(peer), key))

    def true_leaves(self, peer: int) -> set[int]:
        """The nearest half a leaf set on each half of the ring, of the peers that are up."""
        own = identifiers.of_peer(peer)
        half = self.parameters.leaf_set // 2
        right: list[tuple[int, int]] = []
        left: list[tuple[int, int]] = []
        for other in self.places:
            clockwise = (identifiers.of_peer(other) - own) & MASK
            if 0 < clockwise <= HALF:
                right.append((clockwise, other))
            elif clockwise:
                left.append((-clockwise, other))
        return {other for side in (left, right) for _, other in sorted(side)[:half]}

    def wrong_leaf_sets(self) -> dict[int, tuple[set[int], set[int]]]:
        """Of peers whose leaf set is not the true one: (missing, surplus)."""
        wrong = {}
        for peer, place in self.places.items():
            true, seen = self.true_leaves(peer), set(place.pastry.neighbours()["leaf"])
            if true != seen:
                wrong[peer] = (true - seen, seen - true)
        return wrong

    def filled_slots(self) -> float:
        """Of the slots that some live peer fits in, the share that a live peer is in."""
        filled = fillable = 0
        for peer, place in self.places.items():
            slots = {self._slot(peer, other) for other in self.places if other != peer}
            fillable += len(slots)
            table = place.pastry.neighbours()["routing table"]
            filled += len({self._slot(peer, other) for other in table if other in self.places} & slots)
        return filled / fillable

    def _slot(self, peer: int, other: int) -> tuple[int, int]:
        bits = self.parameters.digit_bits
        mine, theirs = identifiers.of_peer(peer), identifiers.of_peer(other)
        row = (identifiers.BITS - (mine ^ theirs).bit_length()) // bits
        return row, theirs >> (identifiers.BITS - (row + 1) * bits)
