"""One peer while it is up: what its protocol sees of the world in real time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING

from google.protobuf.message import Message

from emulator.protocol import (
    Application,
    Contact,
    Delay,
    Event,
    Handler,
    Installation,
    Interest,
    LookupService,
    Outcome,
    PubSub,
    Timer,
    TopicInterest,
)
from emulator.telemetry.context import TraceContext

if TYPE_CHECKING:
    from emulator.runtime.realtime import Host


class Session:
    """The `Environment` of one peer from one start to the next end."""

    def __init__(self, host: Host, peer: int, number: int, random: Random) -> None:
        self.peer = peer
        self.number = number
        """0, 1, ... for each peer."""
        self.random = random
        self.self_contact = Contact(peer)
        self.alive = True
        self.started_ns = host.clock.now_ns()
        self.interests: set[int] = set()
        """Numbers in the plan of what the peer subscribes to now."""
        self.topics = 0
        """Topics among these, a bit set."""
        self.handlers: dict[type[Message], Handler] = {}
        self.counters: tuple[dict[str, list[int]], dict[str, list[int]]] = {}, {}
        """[messages, bytes] sent by message type, of maintenance and of operations."""
        self._host = host
        self._component: Application | None = None

    @property
    def component(self) -> Application:
        """The peer's protocol. Raises RuntimeError before `adopt`."""
        if self._component is None:
            raise RuntimeError(f"peer {self.peer} has no protocol yet")
        return self._component

    def adopt(self, component: Application) -> None:
        """Give the peer its protocol."""
        self._component = component
        self.handlers = component.handlers()

    @property
    def pubsub(self) -> PubSub:
        """The peer's protocol if it is asked for events. Raises TypeError if it is not."""
        if not isinstance(self._component, PubSub):
            raise TypeError(f"{type(self._component).__name__} is no publish/subscribe system")
        return self._component

    @property
    def lookups(self) -> LookupService:
        """The peer's protocol if it is asked for keys. Raises TypeError if it is not."""
        if not isinstance(self._component, LookupService):
            raise TypeError(f"{type(self._component).__name__} takes no lookups")
        return self._component

    @property
    def now(self) -> float:
        return self._host.clock.now()

    def send(self, peer: int, message: Message) -> None:
        if self.alive:
            self._host.send(self, peer, message)

    def set_timer(self, delay: float, callback: Callable[[], None]) -> Delay:
        timer = _Once(self, callback, self._host.context)
        if delay != math.inf:
            self._host.agenda.add(self._host.clock.now() + delay, timer.fire)
        return timer

    def every(self, period: float, callback: Callable[[], None]) -> Timer:
        timer = _Periodic(self, period, callback)
        timer.first()
        return timer

    def find_contacts(self, callback: Callable[[Sequence[Contact]], None]) -> None:
        context = self._host.context
        self._host.find_contacts(self.peer, lambda contacts: self.resume(context, lambda: callback(contacts)))

    def deliver(self, outcome: Outcome) -> None:
        if isinstance(outcome, Event) and outcome.publisher == self.peer:
            return
        self._host.delivered_hops = outcome.hops
        self._host.delivered += outcome.__class__ is not Installation

    def subscribe(self, number: int, interest: Interest) -> None:
        self.interests.add(number)
        if isinstance(interest, TopicInterest):
            self.topics |= 1 << interest.topic
        self.pubsub.subscribe(interest)

    def unsubscribe(self, number: int, interest: Interest) -> None:
        self.interests.discard(number)
        if isinstance(interest, TopicInterest):
            self.topics &= ~(1 << interest.topic)
        self.pubsub.unsubscribe(interest)

    def wants(self, topic: int | None) -> bool:
        """Whether the peer subscribes to the topic; never to None."""
        return topic is not None and bool(self.topics >> topic & 1)

    def operate(
        self,
        operation: str,
        attributes: Mapping[str, int | bool],
        call: Callable[[], None],
        topic: int | None = None,
    ) -> None:
        """Make the call in a trace of its own."""
        host = self._host
        context, at_ns = host.recorder.begin(topic), host.clock.now_ns()
        host.delivered_hops = None
        self._within(context, call)
        host.recorder.operation(context, operation, self.peer, at_ns, attributes, host.delivered_hops)

    def resume(self, context: TraceContext | None, call: Callable[[], None]) -> None:
        """Make a later call of the operation that asked for it, unless the session has ended."""
        if not self.alive:
            return
        if context is None:
            call()
            return
        host = self._host
        host.delivered_hops = None
        self._within(context, call)
        if host.delivered_hops is not None:
            host.recorder.timer(context, self.peer, host.clock.now_ns(), host.delivered_hops)

    def _within(self, context: TraceContext, call: Callable[[], None]) -> None:
        host = self._host
        outer, host.context = host.context, context
        try:
            call()
        finally:
            host.context = outer

    def notice_unreachable(self, peer: int, context: TraceContext | None) -> None:
        """Tell the protocol that a message that it sent in `context` reached nobody."""
        self.resume(context, lambda: self.component.on_unreachable(peer))

    def stop(self) -> None:
        """Let the peer take its leave."""
        self.component.stop(graceful=True)

    def end(self) -> None:
        """No timer fires and nothing is sent from now on."""
        self.alive = False

    def schedule(self, due: float, call: Callable[[], None]) -> None:
        self._host.agenda.add(due, call)


class _Once:
    __slots__ = ("_callback", "_context", "_session")

    def __init__(self, session: Session, callback: Callable[[], None], context: TraceContext | None) -> None:
        self._session = session
        self._callback: Callable[[], None] | None = callback
        self._context = context

    def cancel(self) -> None:
        self._callback = None

    def hasten(self) -> None:
        if self._callback is not None:
            self._session.schedule(self._session.now, self.fire)

    def fire(self) -> None:
        callback, self._callback = self._callback, None
        if callback is not None:
            self._session.resume(self._context, callback)


class _Periodic:
    __slots__ = ("_callback", "_due", "_period", "_session")

    def __init__(self, session: Session, period: float, callback: Callable[[], None]) -> None:
        self._session = session
        self._period = period
        self._callback: Callable[[], None] | None = callback
        self._due = session.now

    def cancel(self) -> None:
        self._callback = None

    def first(self) -> None:
        self._due += self._session.random.random() * self._period
        self._session.schedule(self._due, self._fire)

    def _fire(self) -> None:
        session = self._session
        if self._callback is None or not session.alive:
            return
        self._callback()
        # A host that is too slow skips calls rather than making them in a burst.
        self._due = max(self._due + self._period, session.now)
        if self._callback is not None and session.alive:
            session.schedule(self._due, self._fire)
