"""The turns in which the peers of a host handle messages that take them time, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from emulator.messages.message import Message
from emulator.network.busy_peers import PROCESSING_DROP, BusyPeers
from emulator.runtime.realtime.agenda import Agenda
from emulator.runtime.realtime.clock import TrialClock
from emulator.runtime.realtime.sent_message import Passage
from emulator.runtime.realtime.session import Session


class Turns:
    """Has a message handled when its receiver has handled those before it and has taken its time for it."""

    def __init__(
        self,
        busy: BusyPeers,
        clock: TrialClock,
        agenda: Agenda,
        *,
        handle: Callable[[Session, Message, Passage], None],
        drop: Callable[[str, Session, Message, Passage], None],
    ) -> None:
        """`handle` ends a turn; `drop` is told, by the name of the observation, what would wait too long."""
        self._busy = busy
        self._clock = clock
        self._agenda = agenda
        self._handle = handle
        self._drop = drop

    def take(self, session: Session, message: Message, passage: Passage) -> None:
        """Have a message wait for its turn. One that reaches a paused peer waits until the peer goes on."""
        if session.waiting is not None:
            session.waiting.append(partial(self.take, session, message, passage))
            return
        now_ns = max(self._clock.now_ns(), passage.due_ns)
        handled_ns = self._busy.handled_at(session.peer, session.planned, now_ns)
        if handled_ns < 0:
            self._drop(PROCESSING_DROP, session, message, passage)
        else:
            self._wait(session, message, passage, handled_ns)

    def _wait(self, session: Session, message: Message, passage: Passage, at_ns: int) -> None:
        stood = self._busy.stood_still(session.peer)
        self._agenda.add(at_ns * 1e-9, self._end, session, message, passage, at_ns, stood)

    def _end(self, session: Session, message: Message, passage: Passage, at_ns: int, stood: int) -> None:
        """End a turn, unless its peer stands still or has done so meanwhile, for `stood` (ns) before."""
        if session.waiting is not None and not session.away:
            session.waiting.append(partial(self._end, session, message, passage, at_ns, stood))
        elif late_ns := self._busy.stood_still(session.peer) - stood:
            self._wait(session, message, passage, at_ns + late_ns)
        else:
            self._handle(session, message, passage)
