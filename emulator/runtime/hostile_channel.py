"""The channels of an attacker: what its protocol sends and gets goes by an attack first."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

from mypy_extensions import i64

from emulator.contract.attack import Attack, AttackerEnvironment, AttackModel, Sending
from emulator.contract.message_pool import MessagePool
from emulator.contract.mistakes import code_of
from emulator.contract.protocol import M, Timer
from emulator.contract.random_streams import stream
from emulator.messages.message import Message
from emulator.runtime.attack_counts import DROPPED, MADE, AttackCounts, AttackedMessage
from emulator.runtime.peer_channels import Channel, Life
from emulator.runtime.pending_requests import PendingRequest

OBSERVATION = "attack"
"""The first word of the observations that tell of attacks; the second is the kind of attack."""


def make_hostile(
    life: Life,
    model: AttackModel,
    seed: int,
    begins: float,
    ends: float,
    counts: AttackCounts | None = None,
) -> None:
    """Have all channels of a life be hostile, while trial time is from `begins` to `ends` (s).

    To be called before the life has a channel. The attack has a random stream of its own, so that the
    protocol draws what it would draw without. What it does is counted in `counts`.
    """
    random = stream(seed, "attacker", life.peer, life.session)
    given = AttackCounts() if counts is None else counts
    life.new_channel = partial(_hostile, model=model, random=random, begins=begins, ends=ends, counts=given)


def _hostile(
    life: Life,
    name: str,
    model: AttackModel,
    random: Random,
    begins: float,
    ends: float,
    counts: AttackCounts,
) -> Channel:
    return HostileChannel(life, name, model, random, begins, ends, counts)


class HostileChannel(Channel):
    """The environment of one component of an attacker."""

    def __init__(
        self,
        life: Life,
        name: str,
        model: AttackModel,
        random: Random,
        begins: float,
        ends: float,
        counts: AttackCounts,
    ) -> None:
        super().__init__(life, name)
        self.counts = counts
        self._begins = begins
        self._ends = ends
        self._asked_by = -1
        self._handled: type[Message] | None = None
        self._kind = f"{OBSERVATION} {getattr(model, 'kind')}"  # noqa: B009 - each subclass has the field
        with code_of(model, "began no Attack"):
            attack: object = model.begin(_Surroundings(self, random))
            if not isinstance(attack, Attack):
                raise TypeError(f"{attack!r:.80} is no Attack")
        self._attack = attack

    def attacks(self) -> bool:
        """Return whether the peer behaves badly now."""
        if not self._begins <= self.now < self._ends:
            return False
        self.counts.peers.add(self.peer)
        return True

    def tell(self, receiver: int) -> None:
        """Record that the attack has changed what goes to `receiver`."""
        self.record(self._kind, 1.0, receiver, "messages")

    def handle(self, kind: type[M], handler: Callable[[int, M], None]) -> None:
        super().handle(kind, partial(self._receive, handler))

    def serve(self, kind: type[M], answer: Callable[[int, M], Message | None]) -> None:
        def answer_later(sender: int, message: M, reply: Callable[[Message], None]) -> None:
            replied = answer(sender, message)
            if replied is not None:
                reply(replied)

        self.serve_later(kind, answer_later)

    def serve_later(self, kind: type[M], answer: Callable[[int, M, Callable[[Message], None]], None]) -> None:
        super().serve_later(kind, partial(self._serve, answer))

    def send(self, peer: int, message: Message) -> None:
        self._send(peer, message, partial(self.send_plainly, peer))

    def send_row(self, peer: int, pool: MessagePool, row: i64) -> None:
        self.send(peer, pool.view(row))

    def send_plainly(self, peer: int, message: Message) -> None:
        """Send without asking the attack."""
        self.life.transmit(self, peer, message, 0)

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
        asked_by, handled = self._asked_by, self._handled
        pending = PendingRequest(
            self.life,
            lambda reply: self._still_handling(asked_by, handled, partial(replied, reply)),
            lambda: self._still_handling(asked_by, handled, failed),
            timeout,
        )
        number = pending.number

        def out(message: Message) -> None:
            self.life.transmit(self, peer, message, number)

        self._send(peer, message, out)
        return pending

    def set_timer(self, delay: float, callback: Callable[[], None]) -> Timer:
        return super().set_timer(
            delay, partial(self._still_handling, self._asked_by, self._handled, callback)
        )

    def _still_handling(self, asked_by: int, handled: type[Message] | None, call: Callable[[], None]) -> None:
        """Make a call that follows from what was handled: who sends once more, by another way, still passes
        it on."""
        self._asked_by, self._handled = asked_by, handled
        try:
            call()
        finally:
            self._asked_by, self._handled = -1, None

    def _serve(
        self,
        answer: Callable[[int, M, Callable[[Message], None]], None],
        sender: int,
        message: M,
        reply: Callable[[Message], None],
    ) -> None:
        def handle(sender: int, message: M) -> None:
            answer(sender, message, lambda replied: self._send(sender, replied, reply))

        self._receive(handle, sender, message, request=True)

    def _receive(
        self, handler: Callable[[int, M], None], sender: int, message: M, request: bool = False
    ) -> None:
        if self.attacks() and not self._attack.receives(sender, message, request):
            self.counts.messages[DROPPED] += 1
            self.tell(sender)
            return
        self._asked_by, self._handled = sender, type(message)
        try:
            handler(sender, message)
        finally:
            self._asked_by, self._handled = -1, None

    def _send(self, peer: int, message: Message, send: Callable[[Message], None]) -> None:
        if self.attacks():
            context = self.life.context()
            own = context is not None and context.depth == 0
            sending = Sending(peer, message, own, self._asked_by, self._handled)
            attacked = AttackedMessage(self.counts, message, send, partial(self.tell, peer))
            if self._attack.sends(sending, attacked.send):
                attacked.pass_on()
            else:
                attacked.withhold()
        else:
            send(message)


class _Surroundings(AttackerEnvironment):
    """The view of its channel that an attack gets."""

    def __init__(self, channel: HostileChannel, random: Random) -> None:
        self._channel = channel
        self.peer = channel.peer
        self.random = random

    @property
    def now(self) -> float:
        return self._channel.now

    def send(self, peer: int, message: Message) -> None:
        channel = self._channel
        if channel.attacks():
            channel.counts.messages[MADE] += 1
            channel.tell(peer)
            channel.send_plainly(peer, message)

    def set_timer(self, delay: float, callback: Callable[[], None]) -> None:
        self._channel.set_timer(delay, callback)

    def every(self, period: float, callback: Callable[[], None]) -> None:
        self._channel.set_timer(self.random.random() * period, partial(self._again, period, callback))

    def _again(self, period: float, callback: Callable[[], None]) -> None:
        callback()
        self._channel.set_timer(period, partial(self._again, period, callback))
