"""The churn controller: makes a host's peers do what the plan says, by the host's own clock."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from random import Random

from emulator.contract.protocol import Application, Environment, TopicInterest
from emulator.contract.random_streams import stream
from emulator.runtime.distribution import Distribution
from emulator.runtime.realtime.host import Host
from emulator.runtime.realtime.session import Session
from emulator.runtime.script import Join, Leave, LookUp, Publish, Script, Step, Subscribe, Unsubscribe
from emulator.telemetry import names

_RETRY = 0.010
"""Trial seconds until what is asked of a peer that is about to join is tried again."""

Contacts = list[list[int]]
"""Peers to join through, for each peer that asked."""
Track = Callable[[Sequence[int], Sequence[int], Sequence[int]], Awaitable[tuple[Contacts, Contacts]]]
"""Tells the bootstrap service who (left, joins, asks); contacts for each that joins and that asks."""


class Controller:
    """Starts and stops the peers of a host, and has them subscribe, publish and look up."""

    def __init__(
        self,
        host: Host,
        script: Script,
        create: Callable[[Environment], Application],
        track: Track,
        seed: int,
        *,
        sessions_end_with_host: bool = False,
        incarnation: int = 0,
    ) -> None:
        """`script` is the part of the host's own peers; with `sessions_end_with_host`, somebody ends the
        host when a peer is to leave. `incarnation` counts the starts of the host before this one."""
        self._host = host
        self._script = script
        self._create = create
        self._track = track
        self._seed = seed
        self._sessions_end_with_host = sessions_end_with_host
        self._incarnation = incarnation
        self._random: dict[int, Random] = {}
        self._joining: dict[int, Step] = {}
        self._left: list[int] = []
        self._asking: list[tuple[int, Callable[[Sequence[int]], None]]] = []
        self._news = asyncio.Event()
        self.session_error = Distribution()
        """Wall seconds between planned and achieved joins and leaves."""
        self.operations_missed = 0
        """Publications and lookups of peers that were not up."""
        host.find_contacts = self._ask

    def follow(self) -> None:
        """Put what this host's peers have to do from now on on the agenda."""
        for step in self._script.rest(self._host.clock.now()):
            self._host.agenda.add(step.at, self._act, step)

    def leave_all(self) -> bool:
        """Have all peers take their leave, as the host is ended, but for those that the plan has crash now.

        Tells whether anybody took leave.
        """
        crashing = self._crashing() if self._sessions_end_with_host else set[int]()
        leaving = [session for peer, session in self._host.sessions.items() if peer not in crashing]
        for session in leaving:
            self._end(session, graceful=True)
        return bool(leaving)

    def _crashing(self) -> set[int]:
        """The peers whose sessions do not end gracefully."""
        ends = {
            (step.peer, step.action.session): step.action.graceful
            for step in self._script.steps
            if isinstance(step.action, Leave)
        }
        sessions = self._host.sessions.values()
        return {session.peer for session in sessions if ends.get((session.peer, session.planned)) is False}

    async def run(self) -> None:
        """Talk to the bootstrap service until cancelled; one request at a time, for all that wait."""
        while True:
            await self._news.wait()
            self._news.clear()
            left, self._left = self._left, []
            asking, self._asking = self._asking, []
            joining = list(self._joining)
            contacts, answers = await self._track(left, joining, [peer for peer, _ in asking])
            for peer, peers in zip(joining, contacts, strict=True):
                if (step := self._joining.pop(peer, None)) is not None:
                    self._join(step, peers)
            for (_, callback), peers in zip(asking, answers, strict=True):
                callback(peers)

    def _act(self, step: Step) -> None:
        match step.action:
            case Join():
                self._joining[step.peer] = step
                self._news.set()
            case Leave():
                if not self._sessions_end_with_host:
                    self._leave(step, step.action)
            case Subscribe() | Unsubscribe():
                self._change_interest(step.peer, step.action)
            case Publish() | LookUp():
                self._ask_for(step, step.action)

    def _join(self, step: Step, contacts: Sequence[int]) -> None:
        assert isinstance(step.action, Join)
        host, peer, planned = self._host, step.peer, step.action.session
        if (before := host.sessions.get(peer)) is not None:
            self._end(before, graceful=False)  # its host was to be ended, and was not
        random = self._random.get(peer)
        if random is None:
            random = self._random[peer] = stream(self._seed, "peer", peer)
        # A host that is started again may take a session up; its peers' lives are new ones all the same.
        life = planned + self._incarnation
        session = Session(host, peer, life, random, self._script.role(peer), planned)
        protocol = self._create(session.root)
        for number, interest in self._script.interests(peer, host.clock.now()):
            session.subscribe(number, interest)
        host.sessions[peer] = session
        host.joined += 1
        self._note_error(step)
        session.operate("join", {names.SESSION: planned}, lambda: protocol.start(contacts))

    def _leave(self, step: Step, action: Leave) -> None:
        host, peer = self._host, step.peer
        if self._joining.pop(peer, None) is None:
            session = host.sessions.get(peer)
            if session is not None:
                self._end(session, action.graceful)
        self._note_error(step)
        self._left.append(peer)
        self._news.set()

    def _end(self, session: Session, graceful: bool) -> None:
        attributes = {names.SESSION: session.planned, names.GRACEFUL: graceful}
        session.operate("leave", attributes, session.stop if graceful else session.end)
        session.end()
        del self._host.sessions[session.peer]

    def _change_interest(self, peer: int, action: Subscribe | Unsubscribe) -> None:
        session, number, interest = self._host.sessions.get(peer), action.number, action.interest
        if session is None or (number in session.interests) == isinstance(action, Subscribe):
            return
        operation, change = (
            ("subscribe", session.subscribe)
            if isinstance(action, Subscribe)
            else ("unsubscribe", session.unsubscribe)
        )
        topic = interest.topic if isinstance(interest, TopicInterest) else None
        session.operate(operation, {names.INTEREST: number}, lambda: change(number, interest), topic)

    def _ask_for(self, step: Step, action: Publish | LookUp) -> None:
        host, peer = self._host, step.peer
        session = host.sessions.get(peer)
        if session is None:
            if peer in self._joining:
                host.agenda.add(host.clock.now() + _RETRY, self._ask_for, step, action)
            else:
                self.operations_missed += 1
        elif isinstance(action, Publish):
            host.published += 1
            event, pubsub = action.event, session.pubsub
            attributes: dict[str, int | bool] = {names.EVENT: event.number}
            if event.topic is not None:
                attributes[names.INTERESTED] = event.topic in session.topics
            publish = partial(pubsub.publish, event)
            session.operate("publish", attributes, publish, event.topic, event.number)
        else:
            host.lookups += 1
            lookups = session.lookups
            look_up = partial(lookups.lookup, action.number, action.key)
            session.operate("lookup", {names.LOOKUP: action.number}, look_up)

    def _ask(self, peer: int, callback: Callable[[Sequence[int]], None]) -> None:
        self._asking.append((peer, callback))
        self._news.set()

    def _note_error(self, step: Step) -> None:
        clock = self._host.clock
        self.session_error.add(abs(clock.now() - step.at) * clock.scale)
