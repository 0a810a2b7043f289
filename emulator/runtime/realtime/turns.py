"""The turns in which the peers of a host handle messages that take them time, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from emulator.messages.message import Message
from emulator.network.busy_peers import PROCESSING_DROP, BusyPeers
from emulator.runtime.realtime.agenda import Agenda
from emulator.runtime.realtime.busy_time import BusyTimes
from emulator.runtime.realtime.clock import TrialClock
from emulator.runtime.realtime.sent_message import Passage
from emulator.runtime.realtime.session import Session


class _Turn:
    """A message that waits for its turn. Times are ns of trial time."""

    __slots__ = ("at_ns", "message", "passage", "reached_ns", "session", "stood_before_ns", "stood_ns")

    def __init__(self, session: Session, message: Message, passage: Passage, now_ns: int, stood: int) -> None:
        self.session: Final = session
        self.message: Final = message
        self.passage: Final = passage
        self.reached_ns: Final = now_ns
        """The time at which the message reached the peer."""
        self.stood_before_ns: Final = stood
        """For how long the peer had stood still by then."""
        self.at_ns = now_ns
        """The time at which the turn is to end."""
        self.stood_ns = stood
        """For how long the peer had stood still when that was known."""


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
        self.achieved = BusyTimes(busy)
        """The time for which messages kept the peers busy."""

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
            stood = self._busy.stood_still(session.peer)
            self._wait(_Turn(session, message, passage, now_ns, stood), handled_ns)

    def _wait(self, turn: _Turn, at_ns: int) -> None:
        turn.at_ns, turn.stood_ns = at_ns, self._busy.stood_still(turn.session.peer)
        self._agenda.add(at_ns * 1e-9, self._end, turn)

    def _end(self, turn: _Turn) -> None:
        """End a turn, unless its peer stands still or has done so since the turn's end was known."""
        session = turn.session
        if session.waiting is not None and not session.away:
            session.waiting.append(partial(self._end, turn))
        elif late_ns := self._busy.stood_still(session.peer) - turn.stood_ns:
            self._wait(turn, turn.at_ns + late_ns)
        else:
            came_back_since = turn.passage.due_ns < session.came_back * 1e9
            is_handled = session.alive and not session.away and not came_back_since
            self._handle(session, turn.message, turn.passage)
            if is_handled:
                self.achieved.note(session, turn.reached_ns, turn.stood_before_ns, self._clock.now_ns())
