"""One peer in real time while it is up."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from emulator.contract.identifiers import IdentifierSpace
from emulator.contract.mistakes import called
from emulator.contract.protocol import Outcome, Timer
from emulator.faults.own_clocks import OwnClock
from emulator.messages.message import Message
from emulator.network.busy_peers import BusyPeers
from emulator.runtime.breaches import Occurrences
from emulator.runtime.peer_channels import Channel
from emulator.runtime.realtime.agenda import Agenda
from emulator.runtime.realtime.clock import TrialClock
from emulator.runtime.script_actor import PlannedLife
from emulator.telemetry.context import TraceContext
from emulator.telemetry.observation import Observation
from emulator.telemetry.recorder import Recorder


class SessionHost(ABC):
    """The host of a session, as far as the session needs it."""

    clock: TrialClock
    agenda: Agenda
    recorder: Recorder
    breaches: Occurrences
    """Counts of what breaks the contract."""
    drops: Occurrences
    """The messages that components drop."""
    context: TraceContext | None
    """The operation that is being handled."""
    recovery: TraceContext | None
    """The trace of messages about events that are sent outside of any operation in the call being made."""
    busy: BusyPeers | None = None
    """The peers that take time for each message, None if none does."""
    checked: bool = False
    """This is true if what breaks the contract is an error."""
    shared: dict[object, object]
    """The objects that the peers of the host share, by what made them."""
    find_contacts: Callable[[int, Callable[[Sequence[int]], None]], None]
    """Asks the bootstrap service for contacts, for a peer that is up."""

    @abstractmethod
    def transmit(self, channel: Channel, peer: int, message: Message, request: int) -> None:
        """Put a message on its way."""

    @abstractmethod
    def hand_over(self, peer: int, outcome: Outcome) -> None:
        """Record a delivery at a peer."""


class Session(PlannedLife):
    """A peer's place at its host from one start to the next end."""

    def __init__(
        self,
        host: SessionHost,
        peer: int,
        session: int,
        rng: Random,
        role: str = "peer",
        planned: int | None = None,
        own_clock: OwnClock | None = None,
    ) -> None:
        """`planned` is the session's number in the plan; it is less than `session` if the host was started
        again in the middle of a session. `own_clock` is the peer's clock if that is wrong."""
        super().__init__(peer, session, rng, role)
        self.planned = session if planned is None else planned
        self.checked = host.checked
        self.shared = host.shared
        self.breaches = host.breaches
        self.drops = host.drops
        self.started_ns = host.clock.now_ns()
        self.waiting: deque[Callable[[], None]] | None = None
        """The calls that wait, in order, while the peer is paused; None while it is not."""
        self._host = host
        self._own_clock = own_clock
        self._goes_on = False

    def now(self) -> float:
        at, own = self._host.clock.now(), self._own_clock
        return at if own is None else own.shown(at)

    def trial_time(self) -> float:
        """Return the seconds since the trial began, whatever the peer's own clock shows."""
        return self._host.clock.now()

    def due(self, at: float, delay: float) -> float:
        """Return the trial time at which `delay` seconds have passed on the peer's clock since `at`."""
        return at + delay if self._own_clock is None else self._own_clock.due(at, delay)

    def now_ns(self) -> int:
        return self._host.clock.now_ns()

    def recorder(self) -> Recorder:
        return self._host.recorder

    def context(self) -> TraceContext | None:
        return self._host.context

    def transmit(self, channel: Channel, peer: int, message: Message, request: int) -> None:
        if self.alive:
            self._host.transmit(channel, peer, message, request)

    def set_timer(self, delay: float, callback: Callable[[], None]) -> Timer:
        self._check_callback(callback)
        timer = _Once(self, callback, self._host.context)
        if delay != math.inf:
            self.schedule(self.due(self.trial_time(), delay), timer.fire)
        return timer

    def every(self, period: float, callback: Callable[[], None]) -> Timer:
        self._check_callback(callback)
        return _Periodic(self, period, callback)

    def _check_callback(self, callback: object) -> None:
        """Raises TypeError for the callback of a timer that is no function."""
        if not callable(callback):
            text = "Give it a function, not what a call of one returned"
            raise TypeError(
                f"peer {self.peer} set a timer for {callback!r:.80}, which is no function. {text}"
            )

    def find_contacts(self, callback: Callable[[Sequence[int]], None]) -> None:
        context = self._host.context
        self._host.find_contacts(
            self.peer, lambda contacts: self.resume(context, partial(callback, contacts))
        )

    def hand_over(self, outcome: Outcome) -> None:
        self._host.hand_over(self.peer, outcome)

    def record(self, channel: Channel, observation: Observation, context: TraceContext | None) -> None:
        host = self._host
        host.recorder.observation(
            context, self.peer, self.planned, channel.name, host.clock.now_ns(), observation
        )

    def take_identifier(self, channel: Channel, identifier: int, space: IdentifierSpace) -> None:
        host = self._host
        if self.taken is not None:
            self.taken[channel.name] = channel, identifier, space
        host.recorder.take_identifier(self.peer, channel.name, host.clock.now_ns(), identifier, space.name)

    def resume(self, context: TraceContext | None, call: Callable[[], None]) -> None:
        if not self.alive:
            return
        if self.waiting is not None:
            self.waiting.append(partial(self.resume, context, call))
            return
        host = self._host
        host.context = context
        try:
            call()
        except (Exception, SystemExit) as error:
            raise self.mistaken(error, f"in the call of {called(call)}") from error.__cause__
        finally:
            host.context = host.recovery = None

    def pause(self) -> None:
        if self.waiting is None:
            self.waiting = deque()
        self._goes_on = False
        if self._host.busy is not None:
            self._host.busy.pause(self.peer, self.now_ns())

    def take_down(self) -> None:
        """Have the calls of timers wait until the peer goes on, and lose the messages that it has in hand."""
        if self.waiting is None:
            self.waiting = deque()
        self._goes_on = False
        if self._host.busy is not None:
            self._host.busy.forget(self.peer)

    def go_on(self) -> int:
        if self.waiting is None or self._goes_on:
            return 0
        self._goes_on = True
        if self._host.busy is not None:
            self._host.busy.go_on(self.peer, self.now_ns())
        number = len(self.waiting)
        self._catch_up()
        return number

    def _catch_up(self) -> None:
        """Make the first of the calls that wait, and the next one when the agenda comes to it.

        What comes meanwhile waits behind them, and the other peers of the host have their turn.
        """
        if not self._goes_on:
            return
        waiting, self.waiting = self.waiting, None
        if waiting:
            waiting.popleft()()
        if waiting:
            self.waiting = waiting
            self._host.agenda.add(self._host.clock.now(), self._catch_up)
        else:
            self._goes_on = False

    def end(self) -> None:
        """End the session: no timer calls and nothing is sent from now on."""
        self.alive = False

    def schedule(self, due: float, call: Callable[[], None]) -> None:
        """Have the host make the call at trial time `due`."""
        self._host.agenda.add(due, call)


class _Once(Timer):
    __slots__ = ("_callback", "_context", "_session")

    def __init__(self, session: Session, callback: Callable[[], None], context: TraceContext | None) -> None:
        self._session = session
        self._callback: Callable[[], None] | None = callback
        self._context = context

    def cancel(self) -> None:
        self._callback = None

    def hasten(self) -> None:
        if self._callback is not None:
            self._session.schedule(self._session.trial_time(), self.fire)

    def fire(self) -> None:
        if self._session.waiting is not None:
            self._session.waiting.append(self.fire)
            return
        callback, self._callback = self._callback, None
        if callback is not None:
            self._session.resume(self._context, callback)


class _Periodic(Timer):
    __slots__ = ("_callback", "_due", "_period", "_session")

    def __init__(self, session: Session, period: float, callback: Callable[[], None]) -> None:
        self._session = session
        self._period = period
        self._callback: Callable[[], None] | None = callback
        self._due = session.due(session.trial_time(), session.random.random() * period)
        session.schedule(self._due, self._fire)

    def cancel(self) -> None:
        self._callback = None

    def hasten(self) -> None:
        """Make the call of a periodic timer once now, in addition to the periodic calls."""
        self._session.schedule(self._session.trial_time(), self._hastened)

    def _hastened(self) -> None:
        if self._session.waiting is not None:
            self._session.waiting.append(self._hastened)
        else:
            self._call()

    def _call(self) -> None:
        if self._callback is not None:
            self._session.resume(None, self._callback)

    def _fire(self) -> None:
        session = self._session
        if session.waiting is not None:
            session.waiting.append(self._fire_after_pause)
            return
        self._call()
        if self._callback is not None and session.alive:
            # A host that is too slow skips calls; otherwise it would make them in a burst.
            self._due = max(session.due(self._due, self._period), session.trial_time())
            session.schedule(self._due, self._fire)

    def _fire_after_pause(self) -> None:
        """Make one call for all that were due in a pause; the next one is due a period later."""
        self._due = self._session.trial_time()
        self._fire()
