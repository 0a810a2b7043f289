"""A world for one protocol object, or for several in lockstep: no clock, no network, no sleep."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar

from google.protobuf.message import Message

from emulator.protocol import Component, Contact, Outcome

M = TypeVar("M", bound=Message)


class FakeTimer:
    def __init__(self, at: float, callback: Callable[[], None], period: float | None) -> None:
        self.hastened = False
        self.at = at
        self.callback: Callable[[], None] | None = callback
        self.period = period

    def cancel(self) -> None:
        self.callback = None

    def hasten(self) -> None:
        self.hastened = True


class FakeEnvironment:
    """An `Environment` whose clock stands until `advance`, and which keeps what is sent and delivered."""

    def __init__(self, peer: int = 0, seed: int = 0) -> None:
        self.now = 0.0
        self.random = random.Random(f"{seed}/{peer}")
        self.self_contact = Contact(peer)
        self.outbox: list[tuple[int, Message]] = []
        self.delivered: list[Any] = []
        """Outcomes, in order."""
        self.asked_for_contacts: list[Callable[[Sequence[Contact]], None]] = []
        self.timers: list[FakeTimer] = []

    def send(self, peer: int, message: Message) -> None:
        self.outbox.append((peer, message))

    def set_timer(self, delay: float, callback: Callable[[], None]) -> FakeTimer:
        timer = FakeTimer(self.now + delay, callback, None)
        self.timers.append(timer)
        return timer

    def every(self, period: float, callback: Callable[[], None]) -> FakeTimer:
        timer = FakeTimer(self.now + period / 2, callback, period)
        self.timers.append(timer)
        return timer

    def find_contacts(self, callback: Callable[[Sequence[Contact]], None]) -> None:
        self.asked_for_contacts.append(callback)

    def deliver(self, outcome: Outcome) -> None:
        self.delivered.append(outcome)

    def busy(self) -> bool:
        """Whether something was sent, or a timer hastened, that has not been seen to."""
        return bool(self.outbox) or any(timer.hastened for timer in self.timers)

    def advance(self, seconds: float) -> None:
        """Let time pass and make the calls that become due, in their order."""
        end = self.now + seconds
        while True:
            self.timers = [timer for timer in self.timers if timer.callback is not None]
            for hastened in [timer for timer in self.timers if timer.hastened]:
                hastened.at, hastened.hastened = self.now, False
            timer = min(self.timers, key=lambda timer: timer.at, default=None)
            if timer is None or timer.at > end:
                break
            self.now = timer.at
            callback = timer.callback
            assert callback is not None
            if timer.period is None:
                timer.callback = None
            else:
                timer.at += timer.period
            callback()
        self.now = end

    def take(self, kind: type[M]) -> list[tuple[int, M]]:
        """The messages of a class that were sent, with their receivers; the outbox is empty afterwards."""
        taken = [(peer, message) for peer, message in self.outbox if isinstance(message, kind)]
        self.outbox.clear()
        return taken


def hand_over(protocol: Component, sender: int, message: Message) -> None:
    """Give the protocol a message, as a runtime does."""
    protocol.handlers()[type(message)](sender, message)


class Lockstep:
    """Several protocol objects whose messages all arrive at the end of each round."""

    def __init__(
        self, make: Callable[[FakeEnvironment], Component], peers: Iterable[int], seed: int = 0
    ) -> None:
        self.environments = {peer: FakeEnvironment(peer, seed) for peer in peers}
        self.protocols = {peer: make(environment) for peer, environment in self.environments.items()}
        self.sent: list[tuple[int, int, Message]] = []
        """(sender, receiver, message) of the last round."""
        self._handlers = {peer: protocol.handlers() for peer, protocol in self.protocols.items()}

    def start(self, contacts: int = 3) -> None:
        """Each peer joins through a few of those that joined before it."""
        draw = random.Random(len(self.protocols))
        before: list[Contact] = []
        for peer, protocol in self.protocols.items():
            protocol.start(draw.sample(before, min(contacts, len(before))))
            before.append(Contact(peer))
        self.exchange()

    def round(self, period: float = 1.0, only: Collection[type[Message]] | None = None) -> None:
        """One period for everybody, then the messages (all, or `only` those of some classes)."""
        for environment in self.environments.values():
            environment.advance(period)
        self.sent = []
        self.exchange(only)

    def exchange(self, only: Collection[type[Message]] | None = None) -> None:
        """Hand messages over until nobody has anything left to say."""
        while any(environment.busy() for environment in self.environments.values()):
            outgoing: list[tuple[int, int, Message]] = []
            for sender, environment in self.environments.items():
                environment.advance(0.0)
                outgoing += [(sender, receiver, message) for receiver, message in environment.outbox]
                environment.outbox.clear()
            for sender, receiver, message in outgoing:
                if only is not None and type(message) not in only:
                    continue
                self.sent.append((sender, receiver, message))
                if receiver in self.protocols:
                    self._handlers[receiver][type(message)](sender, message)
                elif sender in self.protocols:
                    self.protocols[sender].on_unreachable(receiver)

    def crash(self, peers: Iterable[int]) -> None:
        """Take peers away without a word; who sends to one learns at once that it is unreachable."""
        for peer in peers:
            del self.protocols[peer], self.environments[peer], self._handlers[peer]
