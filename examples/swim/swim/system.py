"""SWIM, with suspicion and round-robin probing (Das, Gupta, Motivala, DSN 2002, sections 3 and 4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar, Final

from emulator.contract.gauges import Gauge
from emulator.contract.protocol import Application, Environment, Message
from emulator.contract.system import System
from emulator.contract.workload import WorkloadKind
from swim.messages import Ack, Join, Members, Ping, PingRequest, Update
from swim.parameters import Nothing, SwimParameters

ALIVE: Final = 0
SUSPECTED: Final = 1
FAILED: Final = 2


class Swim(Application):
    """One member."""

    GAUGES: ClassVar = {
        "members": Gauge("Others that a member takes for alive.", "peers", None, sampled=True)
    }

    def __init__(self, environment: Environment, parameters: SwimParameters) -> None:
        super().__init__(environment)
        self.period = parameters.period
        self.timeout = parameters.timeout
        self.helpers = parameters.helpers
        self.suspicion = parameters.suspicion
        self.repeats = parameters.repeats
        self.most_updates = parameters.updates
        self.own = Update(environment.peer, environment.session, ALIVE, 0)
        self.known: dict[int, Update] = {}
        """The latest word of each other member."""
        self.news: dict[int, int] = {}
        """How often the latest word of each member was sent, while it is still told."""
        self.turn: list[int] = []
        """Members that are still to be pinged in this round (section 4.3)."""
        environment.serve(Ping, self.on_ping)
        environment.serve_later(PingRequest, self.on_ping_request)
        environment.serve(Join, self.on_join)
        environment.handle(Members, lambda sender, message: self.learn_all(message.updates))

    def start(self, contacts: Sequence[int]) -> None:
        self.news[self.own.member] = 0
        for contact in contacts:
            self.environment.request(contact, Join([self.own]), self.period, self.on_members, _nothing)
        self.environment.every(self.period, self.ping_next)

    def stop(self, graceful: bool) -> None:
        if graceful:
            leave = Update(self.own.member, self.own.life, FAILED, self.own.incarnation)
            for member in self.some_alive(self.helpers):
                self.environment.send(member, Members([leave]))

    def gauges(self) -> dict[str, float]:
        return {"members": float(sum(word.state != FAILED for word in self.known.values()))}

    def ping_next(self) -> None:
        """Ping the next member of a random order that has each of them once (section 4.3)."""
        if not self.turn:
            self.turn = [member for member, word in self.known.items() if word.state != FAILED]
            self.environment.random.shuffle(self.turn)
        while self.turn:
            target = self.turn.pop()
            if self.known[target].state != FAILED:
                ask_others = partial(self.ask_others, target, self.known[target].life)
                self.environment.request(target, Ping(self.riding()), self.timeout, self.on_ack, ask_others)
                return

    def ask_others(self, target: int, life: int) -> None:
        """Have k members ping it; suspect it when none of them has an answer (section 3.1)."""
        rest = self.period - self.timeout
        helpers = [member for member in self.some_alive(self.helpers + 1) if member != target][: self.helpers]
        silent: set[int] = set()

        def missed(helper: int) -> None:
            silent.add(helper)
            if len(silent) == len(helpers):
                self.suspect(target, life)

        for helper in helpers:
            request = PingRequest(target, self.riding())
            self.environment.request(helper, request, rest, self.on_ack, partial(missed, helper))
        if not helpers:
            self.suspect(target, life)

    def suspect(self, target: int, life: int) -> None:
        """Suspect a member, unless it has come back meanwhile: then nobody has pinged its new life."""
        word = self.known[target]
        if word.life == life:
            self.learn(Update(target, life, SUSPECTED, word.incarnation))

    def expire(self, word: Update) -> None:
        """Declare a member failed that nobody has spoken for since it was suspected (section 4.2)."""
        if self.known[word.member] is word:
            self.learn(Update(word.member, word.life, FAILED, word.incarnation))

    def on_ping(self, sender: int, ping: Ping) -> Ack:
        self.learn_all(ping.updates)
        return Ack(self.riding())

    def on_ping_request(self, sender: int, asked: PingRequest, reply: Callable[[Message], None]) -> None:
        self.learn_all(asked.updates)

        def answered(ack: Message) -> None:
            self.on_ack(ack)
            reply(Ack(self.riding()))

        self.environment.request(asked.target, Ping(self.riding()), self.timeout, answered, _nothing)

    def on_ack(self, ack: Message) -> None:
        assert isinstance(ack, Ack)
        self.learn_all(ack.updates)

    def on_join(self, sender: int, join: Join) -> Members:
        self.learn_all(join.updates)
        return Members([self.own, *self.known.values()])

    def on_members(self, members: Message) -> None:
        assert isinstance(members, Members)
        self.learn_all(members.updates)

    def learn_all(self, updates: Sequence[Update]) -> None:
        for update in updates:
            self.learn(update)

    def learn(self, word: Update) -> None:
        """Take over what is newer, and tell it on; speak for oneself if one is suspected (section 4.2)."""
        member = word.member
        if member == self.own.member:
            if word.life == self.own.life and word.state and word.incarnation >= self.own.incarnation:
                self.own = Update(member, word.life, ALIVE, word.incarnation + 1)
                self.news[member] = 0
            return
        before = self.known.get(member)
        if before is not None and _order(word) <= _order(before):
            return
        self.known[member] = word
        self.news[member] = 0
        if word.state == SUSPECTED:
            self.environment.record("suspected", word.life, subject=member)
            self.environment.set_timer(self.suspicion, partial(self.expire, word))
        elif word.state == FAILED and before is not None:  # a newcomer only hears of it
            self.environment.record("failed", word.life, subject=member)

    def riding(self) -> list[Update]:
        """The updates that ride on the next message: those that were sent least often (section 4.1)."""
        most = math.ceil(self.repeats * math.log(len(self.known) + 2))
        chosen = sorted(self.news, key=self.news.__getitem__)[: self.most_updates]
        for member in chosen:
            self.news[member] += 1
            if self.news[member] >= most:
                del self.news[member]
        return [self.own if member == self.own.member else self.known[member] for member in chosen]

    def some_alive(self, count: int) -> list[int]:
        alive = [member for member, word in self.known.items() if word.state == ALIVE]
        return self.environment.random.sample(alive, min(count, len(alive)))


def _order(word: Update) -> tuple[int, bool, int, int]:
    """A word overrides those of a lesser order: an earlier life, not failed, an earlier incarnation."""
    return word.life, word.state == FAILED, word.incarnation, word.state


def _nothing() -> None:
    """Nothing follows when a join or a ping for another member is not answered."""


class MembersKind(WorkloadKind):
    """Peers are asked for nothing: who is up when is all the truth that there is."""

    name = "members"
    title = "a membership"
    parameters = Nothing
    analysis = "swim.analysis:MEMBERS_ANALYSIS"


MEMBERS = MembersKind()
SWIM = System(
    "swim", "SWIM membership", "Das, Gupta, Motivala: SWIM, DSN 2002", SwimParameters, Swim, "members"
)
