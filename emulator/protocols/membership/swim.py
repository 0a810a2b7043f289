"""One member of SWIM (Das, Gupta, Motivala, DSN 2002), with Lifeguard's parts where they are asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from mypy_extensions import i64

from emulator.contract import membership_service as told
from emulator.contract.gauges import Gauge
from emulator.contract.membership_service import MembershipService
from emulator.contract.protocol import Environment, Message
from emulator.protocols.membership.dissemination import Dissemination
from emulator.protocols.membership.health import LocalHealth
from emulator.protocols.membership.parameters import SwimParameters
from emulator.protocols.membership.probing import Prober
from emulator.protocols.membership.state_sync import StateSync
from emulator.protocols.membership.suspicion import Suspicions
from emulator.protocols.membership.view import MOST_MEMBERS, MemberView, StartingMembers
from emulator.protocols.membership.words import ALIVE, FAILED, LEFT, SUSPECTED, UNKNOWN, Words
from trellis.v1.swim import MemberUpdate, SwimAck, SwimGossip, SwimNack, SwimPing, SwimPingRequest, SwimSync

_TOLD: Final = (told.ALIVE, told.SUSPECTED, told.FAILED, told.LEFT)
"""The observation of each state."""


class Swim(MembershipService):
    """One member."""

    GAUGES: ClassVar[Mapping[str, Gauge]] = {
        told.PERIOD: Gauge("Protocol period.", "s"),
        "members": Gauge("Members in the view, the peer itself among them.", "members"),
        "probes": Gauge("Probes of the peer that ended since its join.", "probes"),
        "failed_probes": Gauge("Of these, without an answer.", "probes"),
        "local_health": Gauge("Lifeguard's score of local health; 0 is healthy.", ""),
    }

    def __init__(self, environment: Environment, parameters: SwimParameters) -> None:
        super().__init__(environment)
        self.parameters = parameters
        self._incarnation = 0
        self._begins = 0.0
        """The time (s) before which the member does not probe."""
        self._words = Words(parameters.confirm == "final")
        self._view = MemberView(self._words, environment.random, parameters.forget_after)
        self._news = Dissemination(parameters.repeats, parameters.most_updates)
        self._health = LocalHealth(parameters.largest_health)
        self._suspicions = Suspicions(environment, self._on_expired)
        self._prober = Prober(
            environment, parameters, self._words, self._view, self._news, self._health, self._on_silent
        )
        self._sync = StateSync(environment, parameters, self._view, self._own, self._merge)
        environment.handle(SwimPing, self._on_ping)
        environment.handle(SwimAck, self._on_ack)
        environment.handle(SwimPingRequest, self._on_ping_request)
        environment.handle(SwimNack, self._prober.on_nack)
        environment.handle(SwimGossip, self._on_gossip)

    def start(self, contacts: Sequence[int]) -> None:
        """Join by the first contact that answers, unless this first session begins with a list."""
        environment, starting = self.environment, self.parameters.starting_list
        if starting is not None and environment.session == 0 and environment.peer in starting:
            members = environment.shared(StartingMembers, tuple(starting), self._words.final)
            self._view.begin(members, environment.peer)
            self._begins = self.parameters.listed_at
        else:
            self._news.put(self._own())
            self._sync.join(contacts)
        environment.every(self.parameters.period, self._tick)
        if self.parameters.gossip:
            environment.every(self.parameters.gossip, self._gossip)

    def stop(self, graceful: bool) -> None:
        """Tell as many members as an update is sent to that this one leaves; a crash tells nobody."""
        if not graceful:
            return
        size = int(self._view.size) + 1
        left = MemberUpdate(self.environment.peer, self.environment.session, self._incarnation, LEFT)
        for member in self._view.sample(
            self._news.repeats(size), self.environment.peer, SUSPECTED, self._now()
        ):
            self.environment.send(member, SwimGossip([left]))

    def gauges(self) -> dict[str, float]:
        return {
            told.PERIOD: self.parameters.period,
            "members": float(self._view.size + 1),
            "probes": float(self._prober.ended),
            "failed_probes": float(self._prober.failed),
            "local_health": float(self._health.score),
        }

    def believes_up(self, member: int) -> bool:
        """Return whether another member is in the view: alive, or suspected."""
        word = self._view.word(member)
        return word != UNKNOWN and not self._words.is_over(word)

    def members_up(self) -> list[int]:
        """Return the other members that are in the view: alive, or suspected."""
        return [member for member in self._view.members() if self.believes_up(member)]

    def state_of(self, member: int) -> int:
        """Return the state of another member, or -1 if it was never heard of."""
        word = self._view.word(member)
        return -1 if word == UNKNOWN else int(self._words.state(word))

    def _now(self) -> float:
        return self.environment.now

    def _own(self) -> MemberUpdate:
        return MemberUpdate(self.environment.peer, self.environment.session, self._incarnation, ALIVE)

    def _tick(self) -> None:
        if self.environment.now >= self._begins:
            self._prober.tick()

    def _gossip(self) -> None:
        """Send updates alone to a few members, those among them that failed a short time ago (memberlist)."""
        if not len(self._news):
            return
        since = self._now() - self.parameters.forget_after
        peer = self.environment.peer
        for member in self._view.sample(self.parameters.gossip_nodes, peer, SUSPECTED, since):
            updates = self._news.take(int(self._view.size) + 1)
            if updates:
                self.environment.send(member, SwimGossip(updates))

    def _on_ping(self, sender: int, ping: SwimPing) -> None:
        self._learn(SwimPing, ping.updates)
        self._prober.on_ping(sender, ping)

    def _on_ack(self, sender: int, ack: SwimAck) -> None:
        self._learn(SwimAck, ack.updates)
        self._prober.on_ack(sender, ack)

    def _on_ping_request(self, sender: int, asked: SwimPingRequest) -> None:
        self._learn(SwimPingRequest, asked.updates)
        self._prober.on_ping_request(sender, asked)

    def _on_gossip(self, sender: int, gossip: SwimGossip) -> None:
        self._learn(SwimGossip, gossip.updates)

    def _learn(self, kind: type[Message], updates: Sequence[MemberUpdate]) -> None:
        for update in updates:
            self._take(kind, update)

    def _take(self, kind: type[Message], update: MemberUpdate) -> None:
        word = self._words.pack(update)
        if word == UNKNOWN or update.member >= MOST_MEMBERS:
            self.environment.drop(kind, "an update's numbers are out of range")
        else:
            self._hear(update, word, True)

    def _merge(self, members: Sequence[MemberUpdate]) -> None:
        """Take over another member's list.

        Where a failed member may come back, one that the other takes for failed is suspected only, so that it
        can speak for itself. This member is the accuser of all that a list suspects: the other one may have
        heard it from anybody, so lists are no independent suspicions. Both are as in memberlist.
        """
        peer = self.environment.peer
        worst = SUSPECTED if self._words.final else FAILED
        for update in members:
            if SUSPECTED <= update.state <= worst:
                update = MemberUpdate(update.member, update.life, update.incarnation, SUSPECTED, peer)
            self._take(SwimSync, update)

    def _hear(self, update: MemberUpdate, word: i64, heard: bool) -> None:
        """Take over what is newer than what is known, and pass it on (section 4.2). `word` is that of the
        update."""
        member = update.member
        if member == self.environment.peer:
            self._hear_of_self(update)
            return
        known = self._view.word(member)
        state = update.state
        if word <= known:
            if word == known and state == SUSPECTED and self._suspicions.confirm(member, update.accuser):
                self._news.put(update)
            return
        if known == UNKNOWN and state != ALIVE and not self._words.final:
            return  # Members that are over are forgotten, so a word of them may be old (memberlist).
        is_new = known == UNKNOWN or self._words.life(known) < self._words.life(word)
        was_over = known != UNKNOWN and self._words.is_over(known)
        if not is_new and was_over and state >= FAILED:
            return
        self._view.put(member, word, self._now())
        self._suspicions.end(member)
        self._news.put(update)
        if is_new and state < FAILED:
            self.tell(told.JOINED, member, update.life, heard)
        if state == SUSPECTED:
            self._suspect(member, word, update.accuser)
        if (not is_new or state != ALIVE) and (known != UNKNOWN or state < FAILED):
            self.tell(_TOLD[state], member, update.life, heard)

    def _hear_of_self(self, update: MemberUpdate) -> None:
        """Speak for oneself if one is suspected, by a higher incarnation (section 4.2).

        A member that was declared failed can do so only where failures are not final.
        """
        accused = update.state == SUSPECTED or (update.state == FAILED and not self._words.final)
        if accused and update.life == self.environment.session and update.incarnation >= self._incarnation:
            self._incarnation = update.incarnation + 1
            self._news.put(self._own())
            self._health.change(1)

    def _suspect(self, member: int, word: i64, accuser: int) -> None:
        """Give a member the time of a suspicion.

        Without enough other members to confirm it, the time is the shortest from the start (memberlist).
        """
        parameters, size = self.parameters, int(self._view.size) + 1
        least = parameters.suspicion * max(1.0, math.log10(size)) * parameters.period
        wanted = parameters.confirmations if parameters.suspicion_max > 1.0 else 0
        if size - 2 < wanted:
            wanted = 0
        self._suspicions.begin(member, word, accuser, wanted, least, least * parameters.suspicion_max)

    def _on_silent(self, member: int, word: i64) -> None:
        """Suspect a member that did not answer a probe, or declare it failed where nobody is suspected."""
        state = SUSPECTED if self.parameters.suspicion else FAILED
        self._accuse(member, word, state)

    def _on_expired(self, member: int, word: i64) -> None:
        """Declare a member failed that has not spoken for itself."""
        if self._view.word(member) == word:
            self._accuse(member, word, FAILED)

    def _accuse(self, member: int, word: i64, state: int) -> None:
        words, peer = self._words, self.environment.peer
        accuser = peer if state == SUSPECTED else 0
        accusation = MemberUpdate(member, words.life(word), words.incarnation(word), state, accuser)
        self._hear(accusation, words.pack(accusation), False)
