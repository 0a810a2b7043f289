"""SWIM, with suspicion and round-robin probing (Das, Gupta, Motivala, DSN 2002, sections 3 and 4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from emulator.contract.protocol import Application, Environment, Message
from emulator.contract.system import System
from emulator.contract.workload import WorkloadKind
from swim.messages import Ack, Join, Members, Ping, PingRequest, Update
from swim.parameters import Nothing, SwimParameters

ALIVE: Final = 0
SUSPECTED: Final = 1
FAILED: Final = 2
HELPERS: Final = 3  # members that are asked to ping for another one (k of the paper)
REPEATS: Final = 3.0  # an update is sent this often times log n (lambda of the paper)
MOST_UPDATES: Final = 30  # updates that ride on a message at most


class Swim(Application):
    """One member."""

    def __init__(self, environment: Environment, parameters: SwimParameters) -> None:
        super().__init__(environment)
        self.period = parameters.period
        self.timeout = parameters.timeout
        self.suspicion = parameters.suspicion
        self.own = Update(environment.peer, environment.session, ALIVE, 0)
        self.known: dict[int, Update] = {}  # the latest word of each other member
        self.news: dict[int, int] = {environment.peer: 0}  # how often each word was sent that is still told
        self.turn: list[int] = []  # members that are still to be pinged in this round (section 4.3)
        environment.serve(Ping, self.on_ping)
        environment.serve_later(PingRequest, self.on_ping_request)
        environment.serve(Join, self.on_join)

    def start(self, contacts: Sequence[int]) -> None:
        for contact in contacts:
            self.environment.request(contact, Join([self.own]), self.period, self.on_reply, lambda: None)
        self.environment.every(self.period, self.ping_next)

    def stop(self, graceful: bool) -> None:
        """Leave without a word: the others notice it as they notice a crash."""

    def ping_next(self) -> None:
        """Ping the next member of a random order that has each of them once (section 4.3)."""
        if not self.turn:
            self.turn = [member for member, word in self.known.items() if word.state != FAILED]
            self.environment.random.shuffle(self.turn)
        while self.turn:
            word = self.known[self.turn.pop()]
            if word.state != FAILED:
                ping, ask_others = Ping(self.riding()), partial(self.ask_others, word)
                self.environment.request(word.member, ping, self.timeout, self.on_reply, ask_others)
                return

    def ask_others(self, word: Update) -> None:
        """Have k members ping it; suspect it when none of them has an answer (section 3.1)."""
        alive = [each.member for each in self.known.values() if each.state == ALIVE and each is not word]
        helpers = self.environment.random.sample(alive, min(HELPERS, len(alive)))
        silent: set[int] = set()

        def missed(helper: int) -> None:
            silent.add(helper)
            if len(silent) == len(helpers):
                self.doubt(word, SUSPECTED)

        for helper in helpers:
            request, rest = PingRequest(word.member, self.riding()), self.period - self.timeout
            self.environment.request(helper, request, rest, self.on_reply, partial(missed, helper))
        if not helpers:
            self.doubt(word, SUSPECTED)

    def doubt(self, word: Update, state: int) -> None:
        """Suspect a member, or declare it failed, unless there is a newer word of it (section 4.2)."""
        if self.known[word.member] is word:
            self.learn([Update(word.member, word.life, state, word.incarnation)])

    def on_ping(self, sender: int, ping: Ping) -> Ack:
        self.learn(ping.updates)
        return Ack(self.riding())

    def on_ping_request(self, sender: int, asked: PingRequest, reply: Callable[[Message], None]) -> None:
        self.learn(asked.updates)

        def answered(ack: Message) -> None:
            self.on_reply(ack)
            reply(Ack(self.riding()))

        self.environment.request(asked.target, Ping(self.riding()), self.timeout, answered, lambda: None)

    def on_join(self, sender: int, join: Join) -> Members:
        self.learn(join.updates)
        return Members([self.own, *self.known.values()])

    def on_reply(self, reply: Message) -> None:
        assert isinstance(reply, Ack | Members)
        self.learn(reply.updates)

    def learn(self, words: Sequence[Update]) -> None:
        """Take over what is newer, and tell it on; speak for oneself if one is suspected (section 4.2)."""
        for word in words:
            before = self.known.get(word.member)
            if word.member == self.own.member:
                if word.life == self.own.life and word.state and word.incarnation >= self.own.incarnation:
                    self.own = Update(word.member, word.life, ALIVE, word.incarnation + 1)
                    self.news[word.member] = 0
            elif before is None or _order(word) > _order(before):
                self.known[word.member] = word
                self.news[word.member] = 0
                if word.state == SUSPECTED:
                    self.environment.set_timer(self.suspicion, partial(self.doubt, word, FAILED))
                elif word.state == FAILED and before is not None:  # a newcomer only hears of it
                    self.environment.record("failed", word.life, subject=word.member)

    def riding(self) -> list[Update]:
        """Return the updates that ride on the next message: those that were sent least often (section
        4.1)."""
        most = math.ceil(REPEATS * math.log(len(self.known) + 2))
        chosen = sorted(self.news, key=self.news.__getitem__)[:MOST_UPDATES]
        for member in chosen:
            self.news[member] += 1
            if self.news[member] >= most:
                del self.news[member]
        return [self.own if member == self.own.member else self.known[member] for member in chosen]


def _order(word: Update) -> tuple[int, bool, int, int]:
    """A word overrides those of a lesser order: an earlier life, not failed, an earlier incarnation."""
    return word.life, word.state == FAILED, word.incarnation, word.state


class MembersKind(WorkloadKind):
    """Peers are asked for nothing: who is up when is all the truth that there is."""

    name = "members"
    title = "a membership"
    parameters = Nothing
    analysis = "swim.analysis:MEMBERS_ANALYSIS"


MEMBERS = MembersKind()
SWIM = System(
    "small-swim", "SWIM", "Das, Gupta, Motivala: SWIM, DSN 2002", SwimParameters, Swim, serves="members"
)
