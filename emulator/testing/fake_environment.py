"""A fake environment for one peer's protocol, or for several in lockstep: no clock, no network, no sleep."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from emulator.contract.identifiers import IdentifierSpace
from emulator.contract.protocol import Component, Message, Outcome, Timer
from emulator.messages.fingerprint import fingerprint
from emulator.runtime.breaches import Occurrences
from emulator.runtime.peer_channels import Channel, Life
from emulator.telemetry.context import TraceContext
from emulator.telemetry.observation import Observation

M = TypeVar("M", bound=Message)


class Sent(NamedTuple):
    """A message that a protocol sent."""

    peer: int
    """The receiver."""
    message: Message
    channel: str
    request: int
    """The number of a request, the negative number of the request that a reply answers, or 0."""


class Recorded(NamedTuple):
    """An observation of a component by `Environment.record`."""

    name: str
    value: float
    """The observed value, NaN if it was not measured."""
    subject: int | None
    unit: str
    channel: str


class FakeTimer(Timer):
    def __init__(self, at: float, callback: Callable[[], None], period: float | None) -> None:
        self.hastened = False
        self.at = at
        self.callback: Callable[[], None] | None = callback
        self.period = period

    def cancel(self) -> None:
        self.callback = None

    def hasten(self) -> None:
        self.hastened = True


class FakeLife(Life):
    """A peer whose clock stands until `FakeEnvironment.advance`."""

    def __init__(self, peer: int, session: int, seed: int) -> None:
        super().__init__(peer, session, random.Random(f"{seed}/{peer}"))
        self.clock = 0.0
        self.outbox: list[Sent] = []
        self.delivered: list[Any] = []
        self.recorded: list[Recorded] = []
        self.identifiers: dict[str, int] = {}
        self.asked_for_contacts: list[Callable[[Sequence[int]], None]] = []
        self.timers: list[FakeTimer] = []
        self.checked = True
        self.drops = Occurrences()
        self._sent: dict[int, tuple[Message, int]] = {}
        """The messages in the outbox by identity, each with its fingerprint when it was sent."""

    def now(self) -> float:
        return self.clock

    def transmit(self, channel: Channel, peer: int, message: Message, request: int) -> None:
        self.outbox.append(Sent(peer, message, channel.name, request))
        self._sent.setdefault(id(message), (message, fingerprint(message)))

    def empty_outbox(self) -> list[Sent]:
        """Take and return what was sent. Raises AssertionError if a message was changed since."""
        for message, before in self._sent.values():
            if fingerprint(message) != before:
                raise AssertionError(f"peer {self.peer} changed a message after it had sent it: {message}")
        self._sent.clear()
        taken, self.outbox = self.outbox, []
        return taken

    def set_timer(self, delay: float, callback: Callable[[], None]) -> FakeTimer:
        timer = FakeTimer(self.clock + delay, callback, None)
        self.timers.append(timer)
        return timer

    def every(self, period: float, callback: Callable[[], None]) -> FakeTimer:
        timer = FakeTimer(self.clock + period / 2, callback, period)
        self.timers.append(timer)
        return timer

    def find_contacts(self, callback: Callable[[Sequence[int]], None]) -> None:
        self.asked_for_contacts.append(callback)

    def deliver(self, outcome: Outcome) -> None:
        self.delivered.append(outcome)

    def record(self, channel: Channel, observation: Observation, context: TraceContext | None) -> None:
        value = math.nan if observation.value is None else observation.value
        self.recorded.append(
            Recorded(observation.name, value, observation.subject, observation.unit, channel.name)
        )

    def take_identifier(self, channel: Channel, identifier: int, space: IdentifierSpace) -> None:
        self.identifiers[channel.name] = identifier


class FakeEnvironment(Channel):
    """The root channel of a peer, which keeps what all channels of the peer send and deliver."""

    def __init__(self, peer: int = 0, seed: int = 0, session: int = 0) -> None:
        self.fake = FakeLife(peer, session, seed)
        super().__init__(self.fake, "")
        self.fake.channels[""] = self

    @property
    def outbox(self) -> list[Sent]:
        """The messages that were sent on all channels, in order."""
        return self.fake.outbox

    @property
    def delivered(self) -> list[Any]:
        """The outcomes that the application got, in order."""
        return self.fake.delivered

    @property
    def recorded(self) -> list[Recorded]:
        """The observations of all channels, in order."""
        return self.fake.recorded

    @property
    def dropped(self) -> dict[str, int]:
        """The messages dropped on any channel, counted by the words in which a run tells of them."""
        return self.fake.drops.counts

    @property
    def asked_for_contacts(self) -> list[Callable[[Sequence[int]], None]]:
        return self.fake.asked_for_contacts

    @property
    def timers(self) -> list[FakeTimer]:
        return self.fake.timers

    def busy(self) -> bool:
        """Return whether a message was sent, or a timer hastened, that has not been handled."""
        return bool(self.outbox) or any(timer.hastened for timer in self.timers)

    def advance(self, seconds: float) -> None:
        """Let time pass and make the calls that become due, in their order."""
        fake = self.fake
        end = fake.clock + seconds
        while True:
            fake.timers = [timer for timer in fake.timers if timer.callback is not None]
            for hastened in [timer for timer in fake.timers if timer.hastened]:
                hastened.at, hastened.hastened = fake.clock, False
            timer = min(fake.timers, key=lambda timer: timer.at, default=None)
            if timer is None or timer.at > end:
                break
            fake.clock = timer.at
            callback = timer.callback
            assert callback is not None
            if timer.period is None:
                timer.callback = None
            else:
                timer.at += timer.period
            callback()
        fake.clock = end

    def take(self, kind: type[M]) -> list[tuple[int, M]]:
        """Return the messages of a class that were sent, with their receivers, and empty the outbox.

        Raises AssertionError if a message was changed after it was sent.
        """
        sent = self.fake.empty_outbox()
        return [(each.peer, each.message) for each in sent if isinstance(each.message, kind)]

    def hand_over(self, sender: int, message: Message, channel: str = "", request: int = 0) -> None:
        """Give the peer a message, as a runtime does."""
        self.life.receive(channel, sender, message, request)

    def fail(self, peer: int) -> None:
        """Tell the peer that a send to `peer` failed, as a runtime does."""
        self.life.notice_unreachable(peer, 0)


class Lockstep:
    """Several peers whose messages all arrive at the end of each round."""

    def __init__(
        self, make: Callable[[FakeEnvironment], Component], peers: Iterable[int], seed: int = 0
    ) -> None:
        self.environments = {peer: FakeEnvironment(peer, seed) for peer in peers}
        shared: dict[object, object] = {}
        for environment in self.environments.values():
            environment.fake.shared = shared
        self.protocols = {peer: make(environment) for peer, environment in self.environments.items()}
        self.sent: list[tuple[int, int, Message]] = []
        """The messages of the last round, as (sender, receiver, message)."""

    def start(self, contacts: int = 3) -> None:
        """Start the peers one after the other; each joins through a few of those before it."""
        draw = random.Random(len(self.protocols))
        before: list[int] = []
        for peer, protocol in self.protocols.items():
            protocol.start(draw.sample(before, min(contacts, len(before))))
            before.append(peer)
        self.exchange()

    def round(self, period: float = 1.0, only: Collection[type[Message]] | None = None) -> None:
        """Let a period pass for all peers, then hand over all messages or `only` those of some classes."""
        for environment in self.environments.values():
            environment.advance(period)
        self.sent = []
        self.exchange(only)

    def exchange(self, only: Collection[type[Message]] | None = None) -> None:
        """Hand messages over until no peer sends any more.

        Raises AssertionError if a message was changed after it was sent.
        """
        while any(environment.busy() for environment in self.environments.values()):
            outgoing: list[tuple[int, Sent]] = []
            for sender, environment in self.environments.items():
                environment.advance(0.0)
                outgoing += [(sender, sent) for sent in environment.fake.empty_outbox()]
            for sender, sent in outgoing:
                if only is not None and type(sent.message) not in only:
                    continue
                self.sent.append((sender, sent.peer, sent.message))
                if sent.peer in self.protocols:
                    self.environments[sent.peer].hand_over(sender, sent.message, sent.channel, sent.request)
                elif sender in self.protocols:
                    self.environments[sender].life.notice_unreachable(sent.peer, sent.request)

    def crash(self, peers: Iterable[int]) -> None:
        """Take peers away without notice; a peer that sends to one learns at once that it is unreachable."""
        for peer in peers:
            del self.protocols[peer], self.environments[peer]
