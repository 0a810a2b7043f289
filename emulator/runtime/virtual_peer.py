"""One peer of a world on a virtual clock: what its protocol sees of it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from google.protobuf.message import Message

from emulator.protocol import Application, Contact, Event, Handler, Installation, Outcome
from emulator.telemetry.context import TraceContext

if TYPE_CHECKING:
    from emulator.runtime.virtual_world import VirtualWorld

_CONTACTS_DELAY = 0.1
"""Seconds until the bootstrap service answers a peer that asks again."""


class VirtualTimer:
    """A pending call of a peer."""

    __slots__ = ("callback", "context", "peer", "period")

    def __init__(
        self,
        callback: Callable[[], None],
        context: TraceContext | None,
        peer: VirtualPeer | None = None,
        period: float = 0.0,
    ) -> None:
        self.callback: Callable[[], None] | None = callback
        self.context = context
        self.peer = peer
        self.period = period

    def cancel(self) -> None:
        self.callback = None

    def hasten(self) -> None:
        if self.callback is not None and self.peer is not None:
            self.peer.schedule(0.0, self)


class VirtualPeer:
    """A peer's place in the world; its environment while it is up."""

    __slots__ = (
        "_counters",
        "_delays",
        "_last_message",
        "_last_size",
        "_locations",
        "_timers",
        "_world",
        "handlers",
        "life",
        "number",
        "protocol",
        "random",
        "self_contact",
        "topics",
    )

    def __init__(self, world: VirtualWorld, number: int, rng: random.Random) -> None:
        self._world = world
        self.number = number
        self.random = rng
        self.self_contact = Contact(number)
        self.protocol: Application | None = None
        self.handlers: dict[type[Message], Handler] = {}
        self.topics: set[int] = set()
        self.life = 0
        """Counts joins: what belongs to an earlier life does not reach this one."""
        self._delays = world.network.rows[world.network.locations[number]]
        self._locations = world.network.locations
        self._counters: tuple[dict[type[Message], list[int]], dict[type[Message], list[int]]] = {}, {}
        self._last_message: Message | None = None
        self._last_size = 0

    @property
    def now(self) -> float:
        return self._world.now

    def send(self, peer: int, message: Message) -> None:
        world = self._world
        if message is self._last_message:
            size = self._last_size
        else:
            size = self._last_size = message.ByteSize()
            self._last_message = message
        kind = message.__class__
        context = world.context
        traced = context is not None
        counters = self._counters[traced]
        counter = counters.get(kind)
        if counter is None:
            counter = counters[kind] = world.recorder.counter(self.number, kind.__name__, traced)
        counter[0] += 1
        counter[1] += size
        world.messages += 1
        if world.plain_network:
            delay = self._delays[self._locations[peer]]
        else:
            drawn = world.network.delay(self.number, peer, world.network_random)
            if drawn is None:
                return
            delay = drawn
        world.order += 1
        now = world.now
        world.queue.push(
            (now + delay, world.order, world.peers[peer], message, self, self.life, now, size, context)
        )

    def set_timer(self, delay: float, callback: Callable[[], None]) -> VirtualTimer:
        timer = VirtualTimer(callback, self._world.context, self)
        if delay != math.inf:
            self.schedule(delay, timer)
        return timer

    def every(self, period: float, callback: Callable[[], None]) -> VirtualTimer:
        timer = VirtualTimer(callback, None, self, period)
        self.schedule(self.random.random() * period, timer)
        return timer

    def schedule(self, delay: float, timer: VirtualTimer) -> None:
        """Let the timer fire in `delay` seconds, if the peer is in the same life then."""
        self._world.schedule(self._world.now + delay, timer, self)

    def find_contacts(self, callback: Callable[[Sequence[Contact]], None]) -> None:
        self.set_timer(_CONTACTS_DELAY, lambda: callback(self._world.contacts(self.number)))

    def deliver(self, outcome: Outcome) -> None:
        if isinstance(outcome, Event) and outcome.publisher == self.number:
            return
        self._world.delivered_hops = outcome.hops
        self._world.delivered += outcome.__class__ is not Installation
