"""The kinds of bad behaviour that Trellis has: black holes, delay, duplication, replay and garbage."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Literal

from pydantic import Field

from emulator.contract.attack import Attack, AttackerEnvironment, AttackModel, Sending
from emulator.files.quantities import Duration, Share
from emulator.messages.catalogue import decode
from emulator.messages.message import MalformedMessage, Message


class BlackHole(AttackModel):
    """The attack of a peer that joins, gossips and answers, but passes nothing on."""

    kind: Literal["black-hole"] = "black-hole"
    share: Share = Field(1.0, gt=0, le=1, description="share of what it should pass on that vanishes")

    def begin(self, environment: AttackerEnvironment) -> Attack:
        return _BlackHole(environment, self)


class Delay(AttackModel):
    """The attack of a peer that passes everything on, but late."""

    kind: Literal["delay"] = "delay"
    by: Duration = Field(2.0, gt=0, le=86_400)

    def begin(self, environment: AttackerEnvironment) -> Attack:
        return _Delay(environment, self)


class Duplication(AttackModel):
    """The attack of a peer that passes everything on several times."""

    kind: Literal["duplication"] = "duplication"
    copies: int = Field(2, ge=2, le=100, description="times that each message is sent")

    def begin(self, environment: AttackerEnvironment) -> Attack:
        return _Duplication(environment, self)


class Replay(AttackModel):
    """The attack of a peer that sends again, later and to others, what it was sent without a request."""

    kind: Literal["replay"] = "replay"
    every: Duration = Field(1.0, gt=0, le=86_400, description="time between two messages that it sends again")
    kept: int = Field(100, ge=1, le=10_000, description="messages and peers that it remembers on a channel")

    def begin(self, environment: AttackerEnvironment) -> Attack:
        return _Replay(environment, self)


class Garbage(AttackModel):
    """The attack of a peer that changes bits of some of what it passes on.

    A message whose bytes can no longer be decoded is not sent, because its receiver would drop it unread.
    What is garbled may look like a new event, which others pass on to attackers again; the time between two
    garbled messages of an attacker keeps that from growing without end.
    """

    kind: Literal["garbage"] = "garbage"
    every: Duration = Field(1.0, gt=0, le=86_400, description="shortest time between two garbled messages")
    bits: int = Field(1, ge=1, le=1000, description="bits that are turned over in each message")

    def begin(self, environment: AttackerEnvironment) -> Attack:
        return _Garbage(environment, self)


class _BlackHole(Attack):
    def __init__(self, environment: AttackerEnvironment, model: BlackHole) -> None:
        super().__init__(environment)
        self._share = model.share

    def sends(self, sending: Sending, send: Callable[[Message], None]) -> bool:
        return not (sending.passes_on and self.environment.random.random() < self._share)


class _Delay(Attack):
    def __init__(self, environment: AttackerEnvironment, model: Delay) -> None:
        super().__init__(environment)
        self._by = model.by

    def sends(self, sending: Sending, send: Callable[[Message], None]) -> bool:
        if not sending.passes_on:
            return True
        message = sending.message
        self.environment.set_timer(self._by, lambda: send(message))
        return False


class _Duplication(Attack):
    def __init__(self, environment: AttackerEnvironment, model: Duplication) -> None:
        super().__init__(environment)
        self._copies = model.copies

    def sends(self, sending: Sending, send: Callable[[Message], None]) -> bool:
        if not sending.passes_on:
            return True
        for _ in range(self._copies):
            send(sending.message)
        return False


class _Replay(Attack):
    """The attack that sends a random one of the last messages that came to a random one of the last peers."""

    def __init__(self, environment: AttackerEnvironment, model: Replay) -> None:
        super().__init__(environment)
        self._messages: deque[Message] = deque(maxlen=model.kept)
        self._peers: deque[int] = deque(maxlen=model.kept)
        environment.every(model.every, self._again)

    def sends(self, sending: Sending, send: Callable[[Message], None]) -> bool:
        return True

    def receives(self, sender: int, message: Message, request: bool) -> bool:
        if not request:
            self._messages.append(message)
            self._peers.append(sender)
        return True

    def _again(self) -> None:
        if self._messages:
            draw = self.environment.random
            self.environment.send(draw.choice(self._peers), draw.choice(self._messages))


class _Garbage(Attack):
    def __init__(self, environment: AttackerEnvironment, model: Garbage) -> None:
        super().__init__(environment)
        self._bits = model.bits
        self._every = model.every
        self._next = 0.0

    def sends(self, sending: Sending, send: Callable[[Message], None]) -> bool:
        now = self.environment.now
        if not sending.passes_on or now < self._next:
            return True
        self._next = now + self._every
        garbled = self._garbled(sending.message)
        if garbled is not None:
            send(garbled)
        return False

    def _garbled(self, message: Message) -> Message | None:
        """Return the message with some bits turned over, None if it cannot be decoded then."""
        content = bytearray(message.encode())
        for _ in range(self._bits if content else 0):
            bit = self.environment.random.randrange(8 * len(content))
            content[bit // 8] ^= 1 << bit % 8
        try:
            return decode(message.NAME, bytes(content))
        except (MalformedMessage, RecursionError):
            return None
