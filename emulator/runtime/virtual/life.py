"""One peer on the virtual clock while it is up."""

from __future__ import annotations

import math
import random
from abc import abstractmethod
from collections.abc import Callable, Sequence

from mypy_extensions import i64, mypyc_attr

from emulator.contract.identifiers import IdentifierSpace
from emulator.contract.message_pool import MessagePool
from emulator.contract.protocol import Outcome, Timer
from emulator.messages.message import Message
from emulator.network.access_links import nearest_ns
from emulator.runtime.breaches import Occurrences
from emulator.runtime.peer_channels import Channel
from emulator.runtime.script_actor import PlannedLife, World
from emulator.telemetry.context import TraceContext
from emulator.telemetry.observation import Observation
from emulator.telemetry.recorder import Recorder

CONTACTS_DELAY = 0.1
"""The seconds until the bootstrap service answers a peer that asks again."""


class VirtualTimer(Timer):
    """A pending call, which belongs to a peer in one life or to nobody."""

    __slots__ = ("callback", "context", "life", "period")

    def __init__(
        self,
        callback: Callable[[], None],
        context: TraceContext | None,
        life: VirtualLife | None = None,
        period: float = 0.0,
    ) -> None:
        self.callback: Callable[[], None] | None = callback
        self.context = context
        self.life = life
        self.period = period

    def cancel(self) -> None:
        self.callback = None

    def hasten(self) -> None:
        """Make the call at once; for a periodic timer this call is in addition to the later ones."""
        if self.callback is not None and self.life is not None:
            timer = VirtualTimer(self._call, None, self.life) if self.period else self
            self.life.world.schedule(0.0, timer)

    def _call(self) -> None:
        if self.callback is not None:
            self.callback()


@mypyc_attr(allow_interpreted_subclasses=True)
class LifeHost(World):
    """The world on the virtual clock, as far as a life needs it: the loop that drives all lives."""

    time: float
    """The seconds since the trial began."""
    context: TraceContext | None
    """The operation that is being handled."""
    checked: bool = False
    """This is true if a breach of the contract is an error."""
    shared: dict[object, object]
    """The objects that all peers share, by the function that made them."""
    recorder: Recorder
    breaches: Occurrences
    """Counts of what breaks the contract."""
    drops: Occurrences
    """The messages that components drop."""

    @abstractmethod
    def schedule(self, delay: float, timer: VirtualTimer) -> None:
        """Make the timer's call in `delay` seconds."""

    @abstractmethod
    def transmit(self, channel: Channel, peer: int, message: Message, request: int) -> None:
        """Put a message on its way."""

    @abstractmethod
    def transmit_row(self, channel: Channel, peer: int, pool: MessagePool, row: i64) -> None:
        """Put the message of a row on its way."""

    @abstractmethod
    def contacts(self, peer: int) -> list[int]:
        """Return a few random live peers, as a tracker names them."""

    @abstractmethod
    def answer_delay(self) -> float:
        """Return the seconds until the bootstrap service answers a peer that asks now."""

    @abstractmethod
    def pause(self, peer: int) -> None:
        """Keep back what is due at a peer that is up."""

    @abstractmethod
    def go_on(self, peer: int) -> int:
        """Give a peer what waits there. Returns how many events that are."""

    @abstractmethod
    def hand_over(self, life: VirtualLife, outcome: Outcome) -> None:
        """Record a delivery."""

    @abstractmethod
    def record_identifier(self, channel: Channel, identifier: int, space: str) -> None:
        """Record that a peer has taken an identifier."""

    @abstractmethod
    def record(self, channel: Channel, observed: Observation, context: TraceContext | None) -> None:
        """Record what a component says of itself in an operation, or in none."""


class VirtualLife(PlannedLife):
    """One peer in the world from a join to the next leave."""

    def __init__(
        self, world: LifeHost, peer: int, session: int, rng: random.Random, role: str = "peer"
    ) -> None:
        super().__init__(peer, session, rng, role)
        self.world = world
        self.checked = world.checked
        self.shared = world.shared
        self.breaches = world.breaches
        self.drops = world.drops

    def now(self) -> float:
        return self.world.time

    def now_ns(self) -> int:
        return nearest_ns(self.world.time)

    def recorder(self) -> Recorder:
        return self.world.recorder

    def context(self) -> TraceContext | None:
        return self.world.context

    def resume(self, context: TraceContext | None, call: Callable[[], None]) -> None:
        if self.alive:
            self.world.context = context
            call()
            self.world.context = None

    def transmit(self, channel: Channel, peer: int, message: Message, request: int) -> None:
        if self.alive:
            self.world.transmit(channel, peer, message, request)

    def transmit_row(self, channel: Channel, peer: int, pool: MessagePool, row: i64) -> None:
        if self.alive:
            self.world.transmit_row(channel, peer, pool, row)

    def set_timer(self, delay: float, callback: Callable[[], None]) -> VirtualTimer:
        timer = VirtualTimer(callback, self.world.context, self)
        if delay != math.inf:
            self.world.schedule(delay, timer)
        return timer

    def every(self, period: float, callback: Callable[[], None]) -> Timer:
        timer = VirtualTimer(callback, None, self, period)
        self.world.schedule(self.random.random() * period, timer)
        return timer

    def find_contacts(self, callback: Callable[[Sequence[int]], None]) -> None:
        self.set_timer(self.world.answer_delay(), lambda: callback(self.world.contacts(self.peer)))

    def hand_over(self, outcome: Outcome) -> None:
        self.world.hand_over(self, outcome)

    def pause(self) -> None:
        self.world.pause(self.peer)

    def go_on(self) -> int:
        return self.world.go_on(self.peer)

    def record(self, channel: Channel, observation: Observation, context: TraceContext | None) -> None:
        self.world.record(channel, observation, context)

    def take_identifier(self, channel: Channel, identifier: int, space: IdentifierSpace) -> None:
        if self.taken is not None:
            self.taken[channel.name] = channel, identifier, space
        self.world.record_identifier(channel, identifier, space.name)
