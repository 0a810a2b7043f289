"""Follows the script of a host's peers by the host's own clock: it has them join, leave and be asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from math import inf
from random import Random
from typing import Any

from emulator.compact.durations import Distribution
from emulator.contract.protocol import Application, Environment
from emulator.contract.workload import Operation, WorkloadKind
from emulator.faults.network_faults import NetworkFaults
from emulator.faults.own_clocks import own_clocks
from emulator.faults.spec import AttackersSpec, FaultSpec
from emulator.runtime.fault_actor import FaultActor
from emulator.runtime.realtime.host import Host
from emulator.runtime.realtime.session import Session
from emulator.runtime.script import ComeBack, GiveUp, GoDown, Join, Leave, Script, Step, TakeUp
from emulator.runtime.script_actor import PlannedLife, ScriptActor, World

_RETRY = 0.010
"""The trial seconds until an operation is tried again at a peer that is about to join."""

Contacts = list[list[int]]
"""The peers to join through, for each peer that asked."""
Track = Callable[[Sequence[int], Sequence[int], Sequence[int]], Awaitable[tuple[Contacts, Contacts]]]
"""The call to the bootstrap service: peers that left, join and ask; contacts for those that join and ask."""


class ScriptFollower(World):
    """Has the actor start and stop the peers of a host, and ask them for what the workload asks."""

    def __init__(
        self,
        host: Host,
        script: Script,
        kind: WorkloadKind,
        create: Callable[[Environment], Application],
        track: Track,
        seed: int,
        *,
        attackers: AttackersSpec | None = None,
        sessions_end_with_host: bool = False,
        incarnation: int = 0,
        came_back: bool = False,
        faults: Sequence[FaultSpec] = (),
        hit: Sequence[Collection[int]] = (),
        network_faults: NetworkFaults | None = None,
    ) -> None:
        """`script` is the part of the host's own peers.

        With `sessions_end_with_host`, the churn controller ends the host when a peer is to leave.
        `incarnation` counts the starts of the host before this one. `attackers` says how attackers behave.
        With `came_back`, the host was away though the plan did not ask for it. The sessions that it takes up
        again are no errors of time, because the verdict counts the restart itself.
        `hit` has the peers that each of the `faults` hits, `network_faults` are those that concern messages.
        """
        self._host = host
        self._script = script
        self._actor = ScriptActor(self, script, kind, create, seed, attackers)
        self.faults = FaultActor(self, faults, hit, network_faults, self._actor.attackers)
        self._clocks = own_clocks(faults, hit)
        self._track = track
        self._sessions_end_with_host = sessions_end_with_host
        self._incarnation = incarnation
        self._came_back = came_back
        self._away_until = -inf
        """The trial time in seconds until which the host was away."""
        self._joining: dict[int, Step] = {}
        self._left: list[int] = []
        self._back: list[int] = []
        """The peers that are up again without a join, of which the bootstrap service is not told yet."""
        self._asking: list[tuple[int, Callable[[Sequence[int]], None]]] = []
        self._news = asyncio.Event()
        self.session_error = Distribution()
        """The wall seconds between planned and achieved joins and leaves."""
        self.operations_missed = 0
        """Operations of peers that were not up."""
        host.find_contacts = self._ask

    def follow(self) -> None:
        """Put on the agenda what this host's peers have to do from now on."""
        now = self._host.clock.now()
        if self._came_back:
            self._away_until = now
        for at, call in self.faults.calls(now):
            self._host.agenda.add(at, call)
        network = self._host.network
        network.turn(now)
        for at, _ in network.later:
            self._host.agenda.add(max(at, now), network.turn, at)
        for step in self._script.rest(now):
            # Sessions that began before are joined now; no timer is late for that.
            self._host.agenda.add(max(step.at, now), self._act, step)

    def leave_all(self) -> bool:
        """Let all peers leave because the host is ended, except for those that the plan lets crash now.

        Returns whether any peer left.
        """
        crashing = self._crashing() if self._sessions_end_with_host else set[int]()
        leaving = [session for peer, session in self._host.sessions.items() if peer not in crashing]
        for session in leaving:
            self._actor.leave(session, Leave(session.planned, graceful=True))
        return bool(leaving)

    def _crashing(self) -> set[int]:
        """Return the peers whose sessions do not end gracefully."""
        ends = {
            (step.peer, step.action.session): step.action.graceful
            for step in self._script.steps
            if isinstance(step.action, Leave)
        }
        sessions = self._host.sessions.values()
        return {session.peer for session in sessions if ends.get((session.peer, session.planned)) is False}

    async def run(self) -> None:
        """Talk to the bootstrap service until cancelled, in one request at a time for all peers that wait."""
        while True:
            await self._news.wait()
            self._news.clear()
            left, self._left = self._left, []
            back, self._back = self._back, []
            asking, self._asking = self._asking, []
            joining = dict(self._joining)
            contacts, answers = await self._track(left, [*joining, *back], [peer for peer, _ in asking])
            for (peer, step), peers in zip(joining.items(), contacts[: len(joining)], strict=True):
                # A peer that left meanwhile, and perhaps is to join again, is told of in the next request.
                if self._joining.get(peer) is step:
                    del self._joining[peer]
                    self._join(step, peers)
            for (_, callback), peers in zip(asking, answers, strict=True):
                callback(peers)

    def trial_time(self) -> float:
        return self._host.clock.now()

    def life_of(self, peer: int) -> Session | None:
        return self._host.sessions.get(peer)

    def new_life(self, peer: int, session: int, random: Random, role: str) -> Session:
        # A host that is started again may take a session up; its peers' lives are new ones all the same.
        lives, clock = session + self._incarnation, self._clocks.get(peer)
        return Session(self._host, peer, lives, random, role, session, clock)

    def begin(self, life: PlannedLife) -> None:
        assert isinstance(life, Session)
        self._host.sessions[life.peer] = life
        self._host.joined += 1

    def end(self, life: PlannedLife) -> None:
        life.alive = False
        del self._host.sessions[life.peer]
        life.leave_pools()
        life.go_on()

    def take_down(self, life: PlannedLife) -> None:
        assert isinstance(life, Session)
        del self._host.sessions[life.peer]
        life.take_down()

    def bring_back(self, life: PlannedLife) -> int:
        assert isinstance(life, Session)
        self._host.sessions[life.peer] = life
        return life.go_on()

    def _act(self, step: Step) -> None:
        if isinstance(step.action, Join) and (wait := self.faults.wait(self.trial_time())):
            # The plan has no such join; the host came back while the bootstrap service was away.
            self._later(wait, self._act, step)
            return
        life = self.life_of(step.peer)
        may_wait = not isinstance(step.action, Join | Leave | GoDown | ComeBack)
        if life is not None and life.waiting is not None and may_wait:
            life.waiting.append(partial(self._act, step))
            return
        match step.action:
            case Join():
                self._joining[step.peer] = step
                self._news.set()
            case Leave():
                if not self._sessions_end_with_host:
                    self._leave(step, step.action)
            case GoDown(fault):
                self._go_down(step, fault)
            case ComeBack():
                self._come_back(step, step.action)
            case TakeUp() | GiveUp():
                self._actor.change(step.peer, step.action)
            case operation:
                self._ask_for(step.peer, operation)

    def _join(self, step: Step, contacts: Sequence[int]) -> None:
        assert isinstance(step.action, Join)
        if (before := self.life_of(step.peer)) is not None:  # its host was to be ended, and was not
            self._actor.leave(before, Leave(before.planned, graceful=False))
        self._note_error(step)
        self._actor.join(step.peer, step.action, contacts)

    def _leave(self, step: Step, action: Leave) -> None:
        peer = step.peer
        if self._joining.pop(peer, None) is None and (session := self.life_of(peer)) is not None:
            self._actor.leave(session, Leave(session.planned, action.graceful))
        self._note_error(step)
        self._tell_left(peer)

    def _go_down(self, step: Step, fault: int) -> None:
        peer = step.peer
        if self._joining.pop(peer, None) is None and (session := self.life_of(peer)) is not None:
            self.faults.take_down(session, fault)
        self._note_error(step)
        self._tell_left(peer)

    def _come_back(self, step: Step, action: ComeBack) -> None:
        peer = step.peer
        if not self.faults.bring_back(peer, action.session, action.fault):
            self._act(Step(step.at, peer, Join(action.session)))
            return
        self._note_error(step)
        self._back.append(peer)
        self._news.set()
        life = self.life_of(peer)
        assert life is not None
        if life.waiting is None:
            self._actor.catch_up(peer)
        else:
            life.waiting.append(partial(self._actor.catch_up, peer))

    def _tell_left(self, peer: int) -> None:
        """Have the bootstrap service be told that a peer is down."""
        if peer in self._back:
            self._back.remove(peer)
        self._left.append(peer)
        self._news.set()

    def _ask_for(self, peer: int, operation: Operation) -> None:
        host = self._host
        if self._actor.ask(peer, operation):
            host.asked += 1
        elif peer in self._joining:
            host.agenda.add(host.clock.now() + _RETRY, self._ask_for, peer, operation)
        else:
            self.operations_missed += 1

    def _later(self, wait: float, call: Callable[..., None], *arguments: Any) -> None:
        """Make a call in so many seconds of trial time, or never if that is infinity."""
        if wait != inf:
            self._host.agenda.add(self.trial_time() + wait, call, *arguments)

    def _ask(self, peer: int, callback: Callable[[Sequence[int]], None]) -> None:
        if wait := self.faults.wait(self.trial_time()):
            self._later(wait, self._ask, peer, callback)
            return
        self._asking.append((peer, callback))
        self._news.set()

    def _note_error(self, step: Step) -> None:
        if step.at >= self._away_until:
            clock = self._host.clock
            self.session_error.add(abs(clock.now() - step.at) * clock.scale)
