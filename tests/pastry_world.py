"""A network of peers with latencies, jitter, loss, crashes and refused connections, on a clock of its own."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable, Sequence
from itertools import count

from emulator.contract.identifiers import BITS, RING, IdentifierSpace
from emulator.contract.protocol import (
    Application,
    Environment,
    Lookup,
    LookupService,
    Outcome,
    Timer,
)
from emulator.messages.message import Message
from emulator.protocols.overlays.pastry import Pastry, PastryParameters
from emulator.runtime.peer_channels import Channel, Life
from emulator.telemetry.context import TraceContext
from emulator.telemetry.observation import Observation
from trellis.v1.overlay import Contact, LookupRequest

REFUSAL = 2.0
"""Seconds until a sender learns that its message reached nobody."""


class WorldTimer(Timer):
    def __init__(self, place: Place, callback: Callable[[], None], period: float | None) -> None:
        self.place = place
        self.callback: Callable[[], None] | None = callback
        self.period = period

    def cancel(self) -> None:
        self.callback = None

    def hasten(self) -> None:
        if self.callback is not None:
            self.place.schedule(0.0, self)


class Place(Life):
    """A peer while it is up, and what its application was handed."""

    def __init__(self, world: PastryWorld, peer: int, session: int) -> None:
        super().__init__(peer, session, random.Random(f"{world.seed}/{peer}/{session}"))
        self.world = world
        self.up = True
        self.sent = 0
        self.outcomes: list[Outcome] = []
        self.application = world.make(self.root)

    @property
    def pastry(self) -> Pastry:
        """The peer's Pastry, on whatever channel it is."""
        return next(component for _, component in self.components() if isinstance(component, Pastry))

    @property
    def updates(self) -> list[tuple[int, bool]]:
        """The neighbours that the lookups' application was told of: (peer, joined)."""
        assert isinstance(self.application, Routes)
        return self.application.updates

    def now(self) -> float:
        return self.world.now

    def transmit(self, channel: Channel, peer: int, message: Message, request: int) -> None:
        if self.up:
            self.sent += 1
            self.world.carry(self, channel.name, peer, message, request)

    def set_timer(self, delay: float, callback: Callable[[], None]) -> WorldTimer:
        timer = WorldTimer(self, callback, None)
        self.schedule(delay, timer)
        return timer

    def every(self, period: float, callback: Callable[[], None]) -> WorldTimer:
        timer = WorldTimer(self, callback, period)
        self.schedule(self.random.random() * period, timer)
        return timer

    def find_contacts(self, callback: Callable[[Sequence[int]], None]) -> None:
        self.set_timer(0.1, lambda: callback(self.world.contacts(self.peer)))

    def deliver(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        if isinstance(outcome, Lookup):
            self.world.arrivals.append((outcome.number, self.peer, outcome.hops, self.world.now))

    def record(self, channel: Channel, observation: Observation, context: TraceContext | None) -> None:
        pass

    def take_identifier(self, channel: Channel, identifier: int, space: IdentifierSpace) -> None:
        self.world.identifiers[self.peer] = identifier

    def schedule(self, delay: float, timer: WorldTimer) -> None:
        self.world.at(self.world.now + delay, lambda: self._fire(timer))

    def _fire(self, timer: WorldTimer) -> None:
        callback = timer.callback
        if self.up and callback is not None:
            if timer.period is None:
                timer.callback = None
            else:
                self.schedule(timer.period, timer)
            callback()


class Routes(LookupService):
    """Pastry alone, with lookups."""

    def __init__(self, environment: Environment, parameters: PastryParameters) -> None:
        super().__init__(environment)
        self.updates: list[tuple[int, bool]] = []
        self.pastry = Pastry(environment.channel("overlay"), parameters)
        self.pastry.carry(self, LookupRequest)

    def start(self, contacts: Sequence[int]) -> None:
        self.pastry.start(contacts)

    def stop(self, graceful: bool) -> None:
        self.pastry.stop(graceful)

    def lookup(self, number: int, key: int) -> None:
        self.pastry.route(key, LookupRequest(number))

    def forward(self, key: int, message: Message, next_hop: int, hops: int) -> bool:
        return True

    def deliver(self, key: int, message: Message, origin: Contact, hops: int) -> None:
        assert isinstance(message, LookupRequest)
        self.environment.deliver(Lookup(message.number, origin.peer, key, hops))

    def neighbour_changed(self, contact: Contact, joined: bool) -> None:
        self.updates.append((contact.peer, joined))


class PastryWorld:
    """Peers on a plane whose side takes `side` seconds to cross one way.

    Each message takes up to `jitter` seconds longer, so that a later one may overtake it, and is lost with
    the probability `loss`. Without `refuses`, nobody learns that a message reached a peer that is down.
    """

    def __init__(
        self,
        seed: int = 0,
        parameters: PastryParameters | None = None,
        side: float = 0.1,
        make: Callable[[Environment], Application] | None = None,
    ) -> None:
        """`make` makes a peer, if it is to be anything but Pastry with lookups."""
        self.now = 0.0
        self.seed = seed
        self.parameters = parameters or PastryParameters()
        self.side = side
        self.loss = 0.0
        self.jitter = 0.0
        self.refuses = True
        self.make = make or (lambda environment: Routes(environment, self.parameters))
        self.random = random.Random(seed)
        self.places: dict[int, Place] = {}
        """The places of the peers that are up."""
        self.identifiers: dict[int, int] = {}
        """What each peer said that its identifier is."""
        self.arrivals: list[tuple[int, int, int, float]] = []
        """(number, peer, hops, time) of lookups, where they ended."""
        self._sessions: dict[int, int] = {}
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()
        self._positions: dict[int, tuple[float, float]] = {}

    def at(self, time: float, call: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (time, next(self._order), call))

    def contacts(self, peer: int) -> list[int]:
        others = [other for other in self.places if other != peer]
        return self.random.sample(others, min(3, len(others)))

    def delay(self, a: int, b: int) -> float:
        """Return the delay one way in seconds, without jitter."""
        return 0.001 + math.dist(self._position(a), self._position(b))

    def carry(self, sender: Place, channel: str, receiver: int, message: Message, request: int) -> None:
        if self.loss and self.random.random() < self.loss:
            return
        number = sender.peer

        def arrive() -> None:
            place = self.places.get(receiver)
            if place is not None:
                place.receive(channel, number, message, request)
            elif self.refuses:
                self.at(self.now + REFUSAL, refuse)

        def refuse() -> None:
            if sender.up:
                sender.notice_unreachable(receiver, request)

        late = self.random.uniform(0, self.jitter) if self.jitter else 0.0
        self.at(self.now + self.delay(number, receiver) + late, arrive)

    def _position(self, peer: int) -> tuple[float, float]:
        if peer not in self._positions:
            draw = random.Random(f"{self.seed}/position/{peer}")
            self._positions[peer] = (draw.random() * self.side, draw.random() * self.side)
        return self._positions[peer]

    def join(self, peer: int) -> None:
        contacts = self.contacts(peer)
        self._sessions[peer] = self._sessions.get(peer, -1) + 1
        place = self.places[peer] = Place(self, peer, self._sessions[peer])
        place.application.start(contacts)

    def leave(self, peer: int, graceful: bool) -> None:
        place = self.places[peer]
        if graceful:
            place.application.stop(graceful)
        place.up = False
        del self.places[peer]

    def lookup(self, number: int, peer: int, key: int) -> None:
        application = self.places[peer].application
        assert isinstance(application, Routes)
        application.lookup(number, key)

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while self._queue and self._queue[0][0] <= end:
            self.now, _, call = heapq.heappop(self._queue)
            call()
        self.now = end

    def root(self, key: int) -> int:
        """Return the peer that is closest to the key, of those that are up."""
        return min(self.places, key=lambda peer: RING.distance(self.identifiers[peer], key))

    def true_leaves(self, peer: int) -> set[int]:
        """Return the nearest half a leaf set on each half of the ring, of the peers that are up."""
        own = self.identifiers[peer]
        half = self.parameters.leaf_set // 2
        right: list[tuple[int, int]] = []
        left: list[tuple[int, int]] = []
        for other in self.places:
            clockwise = (self.identifiers[other] - own) & RING.mask
            if 0 < clockwise <= RING.size // 2:
                right.append((clockwise, other))
            elif clockwise:
                left.append((-clockwise, other))
        return {other for _, other in sorted(right)[:half] + sorted(left)[:half]}

    def wrong_leaf_sets(self) -> dict[int, tuple[set[int], set[int]]]:
        """Return the peers whose leaf set is not the true one, with (missing, surplus)."""
        wrong = {}
        for peer, place in self.places.items():
            true, seen = self.true_leaves(peer), set(place.pastry.neighbours()["leaf"])
            if true != seen:
                wrong[peer] = (true - seen, seen - true)
        return wrong

    def filled_slots(self) -> float:
        """Return the share of slots that a live peer is in, of those that some live peer fits in."""
        filled = fillable = 0
        for peer, place in self.places.items():
            slots = {self._slot(peer, other) for other in self.places if other != peer}
            fillable += len(slots)
            table = place.pastry.neighbours()["routing table"]
            filled += len({self._slot(peer, other) for other in table if other in self.places} & slots)
        return filled / fillable

    def _slot(self, peer: int, other: int) -> tuple[int, int]:
        bits = self.parameters.digit_bits
        mine, theirs = self.identifiers[peer], self.identifiers[other]
        row = (BITS - (mine ^ theirs).bit_length()) // bits
        return row, theirs >> (BITS - (row + 1) * bits)
