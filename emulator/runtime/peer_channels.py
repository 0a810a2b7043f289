"""A peer while it is up, in every runtime: its channels, handlers and pending requests."""

from __future__ import annotations

import random
import sys
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from mypy_extensions import i64, mypyc_attr

from emulator.contract.identifiers import IdentifierSpace, hash_of_peer
from emulator.contract.message_pool import MessagePool
from emulator.contract.protocol import Application, Component, Environment, Gauge, M, Outcome, S, Timer
from emulator.messages.message import Message
from emulator.network.peer_network import LOSS
from emulator.runtime.breaches import Occurrences
from emulator.runtime.pending_requests import PendingReply, PendingRequest, RequestingLife
from emulator.telemetry.context import TraceContext
from emulator.telemetry.message_counts import ChannelTallies, Tally
from emulator.telemetry.observation import Observation
from emulator.telemetry.recorder import Recorder

Handler = Callable[[int, Message], None]
Answer = Callable[[int, Message], Message | None]
LateAnswer = Callable[[int, Message, Callable[[Message], None]], None]


class _Handling:
    """The handler of a class of messages on a channel, which handles them or answers them as requests."""

    __slots__ = ("answer", "answer_later", "channel", "elsewhere", "handler")

    def __init__(
        self,
        channel: Channel,
        handler: Handler | None,
        answer: Answer | None,
        answer_later: LateAnswer | None,
        elsewhere: _Handling | None,
    ) -> None:
        self.channel = channel
        self.handler = handler
        self.answer = answer
        self.answer_later = answer_later
        self.elsewhere = elsewhere
        """The handling of these messages by another channel of the peer, if one handles them."""


class NoHandler(LookupError):
    """The peer has no handler for a message on the channel on which it came."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Life(RequestingLife):
    """One peer from a start to the next end."""

    def __init__(self, peer: int, session: int, rng: random.Random, role: str = "peer") -> None:
        super().__init__(session)
        self.peer = peer
        self.session = session
        self.random = rng
        self.role = role
        self.identifier = hash_of_peer(peer)
        """The uniform identifier that the peer takes in overlays that want one."""
        self.channels: dict[str, Channel] = {}
        self._handling: dict[type[Message], _Handling] = {}
        """The handling of each class of messages, whichever channel has it."""
        self.sampled: list[Channel] = []
        """The channels whose components have gauges that are sampled over time."""
        self.checked = False
        """This is true if a breach of the contract is an error."""
        self.shared: dict[object, object] = {}
        """The objects that the peers of a host share, by the function that made them."""
        self.breaches = Occurrences()
        """Counts of what breaks the contract, as `drops` counts the messages that components drop."""
        self.drops = self.breaches
        self.new_channel: Callable[[Life, str], Channel] = Channel
        """The function that makes a channel of this name; that of an attacker makes hostile ones."""

    @property
    def protocol(self) -> Application:
        """The component of the root channel. Raises RuntimeError before there is one."""
        component = self.root.component
        if not isinstance(component, Application):
            raise RuntimeError(f"peer {self.peer} has no protocol yet")
        return component

    @property
    def root(self) -> Channel:
        """The channel of the peer's protocol as a whole."""
        root = self.channels.get("")
        return self.open("") if root is None else root

    def open(self, name: str) -> Channel:
        """Make a channel. Raises ValueError if there is one of that name."""
        if name in self.channels:
            raise ValueError(f"two components have the channel {name!r}")
        channel = self.channels[name] = self.new_channel(self, name)
        return channel

    def leave_pools(self) -> None:
        """Have the message pools of the host forget this peer, whose life has ended."""
        for store in self.shared.values():
            if isinstance(store, MessagePool):
                store.leave(self.peer)

    def components(self) -> list[tuple[str, Component]]:
        """Return the components with their channels' names, the parts before what is made of them."""
        parts = reversed(self.channels.items())
        return [(name, channel.component) for name, channel in parts if channel.component is not None]

    def sampled_components(self) -> list[tuple[str, Component]]:
        """Return the components that have gauges which are sampled over time, with their channels' names."""
        sampled = self.sampled
        return [(channel.name, channel.component) for channel in sampled if channel.component is not None]

    def receive(self, channel_name: str, sender: int, message: Message, request: int) -> None:
        """Handle a message. Raises NoHandler, and what its handler raises."""
        if request < 0:
            pending = self.requests.pop(-request, None)
            if pending is not None:
                pending.answer(message)
            return
        handling = self._handling_of(type(message), channel_name)
        if handling is None:
            raise NoHandler(f"peer {self.peer} does not know {message.NAME} on channel {channel_name!r}")
        if request == 0:
            if handling.handler is None:
                raise NoHandler(f"no handler for {message.NAME} on channel {channel_name!r}")
            handling.handler(sender, message)
        else:
            if handling.answer is not None:
                reply = handling.answer(sender, message)
                if reply is not None:
                    self.transmit(handling.channel, sender, reply, -request)
            elif handling.answer_later is not None:
                later = PendingReply(partial(self.transmit, handling.channel, sender, request=-request))
                handling.answer_later(sender, message, later.send)
            else:
                raise NoHandler(f"nobody serves {message.NAME} on channel {channel_name!r}")

    def register(
        self,
        channel: Channel,
        kind: type[Message],
        handler: Handler | None,
        answer: Answer | None,
        answer_later: LateAnswer | None = None,
    ) -> None:
        """Have a channel handle or answer the messages of a class.

        Raises ValueError if it does already, TypeError for what is no class of messages or no function.
        """
        if not (isinstance(kind, type) and issubclass(kind, Message)):
            raise TypeError(f"{channel.who()} handles {kind!r:.80}, which is no class of messages")
        by: object = handler or answer or answer_later
        if not callable(by):
            raise TypeError(f"{channel.who()} handles {kind.NAME} by {by!r:.80}, which is no function")
        if self._handling_of(kind, channel.name) is not None:
            raise ValueError(f"{kind.NAME} has two handlers on channel {channel.name!r}")
        self._handling[kind] = _Handling(channel, handler, answer, answer_later, self._handling.get(kind))

    def handler_of(self, kind: type[Message], channel_name: str) -> Callable[..., object] | None:
        """Return the function that handles or answers messages of a class on a channel, if there is one."""
        handling = self._handling_of(kind, channel_name)
        if handling is None:
            return None
        return handling.handler or handling.answer or handling.answer_later

    def _handling_of(self, kind: type[Message], channel_name: str) -> _Handling | None:
        handling = self._handling.get(kind)
        while handling is not None and handling.channel.name != channel_name:
            handling = handling.elsewhere
        return handling

    def notice_unreachable(self, peer: int, request: int) -> None:
        """Take note that a message to `peer` reached nobody; it was the request of that number, if not 0."""
        for _, component in self.components():
            component.on_unreachable(peer)
        pending = self.requests.get(request)
        if pending is not None:
            pending.hasten()

    @abstractmethod
    def now(self) -> float:
        """Return the seconds since the trial began."""

    def context(self) -> TraceContext | None:
        """Return the operation that is being handled, None outside of any and where nothing is traced."""
        return None

    @abstractmethod
    def transmit(self, channel: Channel, peer: int, message: Message, request: int) -> None:
        """Send a message. `request` numbers a request, its negative the reply to it; 0 is neither."""

    def transmit_row(self, channel: Channel, peer: int, pool: MessagePool, row: i64) -> None:
        """Send the message of a row, as the message itself unless this runtime passes rows on."""
        self.transmit(channel, peer, pool.view(row), 0)

    @abstractmethod
    def every(self, period: float, callback: Callable[[], None]) -> Timer:
        """Do what `Environment.every` promises."""

    @abstractmethod
    def find_contacts(self, callback: Callable[[Sequence[int]], None]) -> None:
        """Do what `Environment.find_contacts` promises."""

    @abstractmethod
    def deliver(self, outcome: Outcome) -> None:
        """Do what `Environment.deliver` promises."""

    @abstractmethod
    def record(self, channel: Channel, observation: Observation, context: TraceContext | None) -> None:
        """Record what a component, or the runtime in its place, observes in an operation or in none."""

    @abstractmethod
    def take_identifier(self, channel: Channel, identifier: int, space: IdentifierSpace) -> None:
        """Do what `Environment.take_identifier` promises."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Channel(Environment):
    """The environment of one component of one peer."""

    def __init__(self, life: Life, name: str) -> None:
        self.life = life
        self.name = name
        """The names from the root to this channel, joined by slashes; empty at the root."""
        self.peer = life.peer
        self.session = life.session
        self.role = life.role
        self.identifier = life.identifier
        self.random = life.random
        self.component: Component | None = None
        self._tallies: ChannelTallies | None = None
        self._place = 0
        """The peer's row in the tallies."""

    @property
    def now(self) -> float:
        return self.life.now()

    def channel(self, name: str) -> Channel:
        return self.life.open(sys.intern(f"{self.name}/{name}") if self.name else name)

    def attach(self, component: Component) -> None:
        if self.component is not None:
            raise ValueError(f"two components have the channel {self.name!r}")
        self.component = component
        if component.GAUGES:
            self._look_at_gauges(component)

    def handle(self, kind: type[M], handler: Callable[[int, M], None]) -> None:
        self.life.register(self, kind, handler, None)  # type: ignore[arg-type]

    def serve(self, kind: type[M], answer: Callable[[int, M], Message | None]) -> None:
        self.life.register(self, kind, None, answer)  # type: ignore[arg-type]

    def serve_later(self, kind: type[M], answer: Callable[[int, M, Callable[[Message], None]], None]) -> None:
        self.life.register(self, kind, None, None, answer)  # type: ignore[arg-type]

    def send(self, peer: int, message: Message) -> None:
        self.life.transmit(self, peer, message, 0)

    def send_row(self, peer: int, pool: MessagePool, row: i64) -> None:
        self.life.transmit_row(self, peer, pool, row)

    def request(
        self,
        peer: int,
        message: Message,
        timeout: float,
        replied: Callable[[Message], None],
        failed: Callable[[], None],
    ) -> Timer:
        if not timeout >= 0.0:
            timeout = self._mended_delay(timeout)
        pending = PendingRequest(self.life, replied, failed, timeout)
        self.life.transmit(self, peer, message, pending.number)
        return pending

    def count(self, message: Message, traced: bool, recorder: Recorder) -> None:
        """Count a message that is sent in an operation (`traced`) or in none."""
        tallies = self._tallies
        if tallies is None:
            tallies = self._begin_tallies(recorder)
        tallies.count(self._place, message, traced)

    def count_row(self, tally: Tally, size: i64, recorder: Recorder) -> None:
        """Count a row of `size` bytes that is sent in no operation; `tally` is that of its pool."""
        if self._tallies is None:
            self._begin_tallies(recorder)
        tally.add(self._place, 1, size)

    def count_lost(
        self, peer: int, message: Message, context: TraceContext | None, recorder: Recorder
    ) -> None:
        """Count a message to `peer` that the network has lost, and mark it in the operation of `context`.

        Messages outside of operations have no spans, and so no mark.
        """
        recorder.lost.on(self.name).count(0, message, context is not None)
        if context is not None:
            self.mark(LOSS, peer, message, context)

    def mark(self, name: str, peer: int, message: Message, context: TraceContext | None) -> None:
        """Record what became of a message to `peer` that was sent in the operation of `context`, or in none,
        as an observation of the message's bytes."""
        self.life.record(self, Observation(name, message.byte_size(), peer, "bytes"), context)

    def check_sent(self, peer: Any, message: Any) -> None:
        """Look at what the component sends. Raises TypeError if it is no message, or `peer` no number."""
        if not isinstance(message, Message):
            raise TypeError(f"{self.who()} sends {message!r:.80}, which is no message")
        if not isinstance(peer, int):
            what = f"{self.who()} sends {message.NAME} to {peer!r:.80}"
            raise TypeError(f"{what}, which is no number of a peer")

    def _begin_tallies(self, recorder: Recorder) -> ChannelTallies:
        tallies = self._tallies = recorder.tallies.on(self.name)
        self._place = recorder.tallies.place(self.peer)
        return tallies

    def set_timer(self, delay: float, callback: Callable[[], None]) -> Timer:
        if not delay >= 0.0:
            delay = self._mended_delay(delay)
        return self.life.set_timer(delay, callback)

    def every(self, period: float, callback: Callable[[], None]) -> Timer:
        if not period > 0.0:
            raise ValueError(f"{self.who()} asked for a call each {period} s. A period is more than 0 s")
        return self.life.every(period, callback)

    def find_contacts(self, callback: Callable[[Sequence[int]], None]) -> None:
        self.life.find_contacts(callback)

    def deliver(self, outcome: Outcome) -> None:
        if outcome.hops < 0:
            told = f"{self.life.breaches.system} delivered {outcome} with {outcome.hops} hops"
            raise ValueError(f"{told}, by {self.who()}. Hops are counted from 0 on")
        self.life.deliver(outcome)

    def drop(self, kind: type[Message], reason: str) -> None:
        on = f" on channel {self.name!r}" if self.name else ""
        where = f"at peer {self.peer} at {self.now:.3f} s"
        self.life.drops.note(f"dropped {kind.NAME}{on}: {reason}", where)

    def record(self, name: str, value: float, subject: int | None = None, unit: str = "") -> None:
        try:
            self.life.record(self, Observation(name, value, subject, unit), self.life.context())
        except (TypeError, ValueError) as error:
            raise type(error)(f"{self.who()} recorded {name!r}: {error}") from None

    def take_identifier(self, identifier: int, space: IdentifierSpace) -> None:
        if not 0 <= identifier < space.size:
            text = f"took the identifier {identifier}, but those of its space have {space.bits} bits"
            raise ValueError(f"{self.who()} {text}")
        self.life.take_identifier(self, identifier, space)

    def shared(self, make: Callable[..., S], *arguments: object) -> S:
        known, asked = self.life.shared, (make, *arguments)
        if asked not in known:
            known[asked] = make(*arguments)
        return cast("S", known[asked])

    def report_gone(self, peer: int) -> None:
        self.life.notice_unreachable(peer, 0)

    def _look_at_gauges(self, component: Component) -> None:
        """Note whether any gauge is sampled. Raises TypeError if a package declares gauges wrongly."""
        for name, gauge in component.GAUGES.items():
            wrong = gauge.problem() if isinstance(gauge, Gauge) else f"it is of type {type(gauge).__name__}"
            if wrong:
                raise TypeError(
                    f"{self.who()} declares the gauge {name!r} wrongly: {wrong}. "
                    "GAUGES maps names to `Gauge`s of emulator.contract.protocol"
                )
        if any(gauge.sampled for gauge in component.GAUGES.values()):
            self.life.sampled.append(self)

    def _mended_delay(self, delay: float) -> float:
        """Return 0 for a negative delay, which is counted. Raises ValueError for NaN, and if checked."""
        what = f"set a timer or a time-out of {delay} s"
        if self.life.checked or delay != delay:
            text = "A delay is not negative; that of what is due already is 0"
            raise ValueError(f"{self.who()} {what}. {text}")
        self.life.breaches.note("set a negative delay", f"{self.who()} {what} at {self.now:.3f} s")
        return 0.0

    def who(self) -> str:
        """Return the component's name, for messages about its mistakes."""
        kind = "a component" if self.component is None else type(self.component).__name__
        return f"{kind} of peer {self.peer}" + (f" on channel {self.name!r}" if self.name else "")
