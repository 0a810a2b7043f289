"""The real-time runtime: the peers of one host, their clock, timers and messages.

The sending host enforces the one-way delay: a message waits in the agenda until it is due, then goes to the
receiving peer by reference, or to its host over a link.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from emulator.contract.mistakes import handled
from emulator.contract.protocol import Outcome
from emulator.faults.network_faults import NetworkFaults
from emulator.messages.message import NOTIFICATION, MalformedMessage, Message
from emulator.network.access_links import DOWN_LINK_DROP, UP_LINK_DROP
from emulator.network.busy_peers import BusyPeers
from emulator.network.peer_network import Network
from emulator.runtime.breaches import Occurrences
from emulator.runtime.damaged import refuse
from emulator.runtime.peer_channels import Channel, NoHandler
from emulator.runtime.realtime.agenda import Agenda
from emulator.runtime.realtime.clock import TrialClock
from emulator.runtime.realtime.decoding import A_PEER, Decoder
from emulator.runtime.realtime.fault_line import FaultLine
from emulator.runtime.realtime.gathering import AHEAD, in_time, unhurried
from emulator.runtime.realtime.link_line import LinkLine
from emulator.runtime.realtime.message_marks import MessageMarks
from emulator.runtime.realtime.outcome_counts import OutcomeCounts
from emulator.runtime.realtime.probes import Probes
from emulator.runtime.realtime.sent_message import PROBE, Parcel, Passage, Wire, fault_of, passage_of
from emulator.runtime.realtime.session import Session, SessionHost
from emulator.runtime.realtime.turns import Turns
from emulator.telemetry import names
from emulator.telemetry.context import TraceContext
from emulator.telemetry.recorder import Recorder
from trellis.v1 import wire_pb2

_WAITING_LIMIT = 500_000
"""The most messages that may wait at a host for their time; messages beyond are dropped and counted."""

Then = Callable[[Session, Message, Passage], None]
"""A step of a message that has reached its receiver."""


class Host(SessionHost):
    """The peers of one process and the messages between them and others."""

    def __init__(
        self,
        index: int,
        host_of: Sequence[int],
        network: Network,
        clock: TrialClock,
        recorder: Recorder,
        random: Random,
        failed: Callable[[Exception], None],
        in_kernel: bool = False,
        faults: NetworkFaults | None = None,
        busy: BusyPeers | None = None,
    ) -> None:
        """`host_of` gives the index of each peer's host; `failed` is told of an error in a protocol.

        With `in_kernel`, the kernel delays what goes to other hosts. `busy` peers take time for each message.
        """
        self.index = index
        self.host_of = host_of
        self.network = network
        self.busy = busy
        self.clock = clock
        self.recorder = recorder
        self.shared: dict[object, object] = {}
        self.agenda = Agenda(clock, failed)
        self._marks = MessageMarks(clock, recorder)
        self.turns: Turns | None = None
        if busy is not None:
            end_turn = partial(self._go_on, self._handle)
            self.turns = Turns(busy, clock, self.agenda, handle=end_turn, drop=self._marks.dropped)
        self.wire: Wire | None = None
        self.find_contacts = _no_contacts
        self.sessions: dict[int, Session] = {}
        """The peers of this host that are up."""
        self.context: TraceContext | None = None
        self.recovery: TraceContext | None = None
        self.breaches = Occurrences()
        self.drops = Occurrences()
        self.sent = self.sent_to_other_hosts = self.bounced = self.given_up = 0
        self.joined = self.asked = 0
        self.outcomes = OutcomeCounts()
        self.dropped: Counter[str] = Counter()
        """The envelopes that the emulation lost without being asked to, by cause."""
        self.probes = Probes(host_of, clock)
        self._ahead = AHEAD / clock.scale
        """The trial seconds before it is due at which a message to another host may leave."""
        self._in_kernel = in_kernel
        self._line = LinkLine(network, self.agenda, clock)
        self._faults = FaultLine(faults, network, clock, random, recorder, self._go)
        self._waiting = 0
        """The messages on the agenda that are on their way."""
        self._random = random
        self._failed = failed
        self._decoder = Decoder(A_PEER * sum(host == index for host in host_of))
        self._parcel: Parcel | None = None
        """The parcel of the message that was sent last."""
        self._recovered = -1, -1
        """The event and topic of the last recovery."""
        self._handling = False
        """This is true while a message with a span is being handled."""
        self._marked: Outcome | None = None
        """The first outcome that the application got while that message was handled."""

    def watch(self, system: str) -> None:
        """Count what the peers of this system do from now on, by its name."""
        self.breaches, self.drops = Occurrences(system), Occurrences(system)

    def fail(self, error: Exception) -> None:
        """End the work of the host because of an error that nobody foresaw."""
        self.agenda.stop()
        self._failed(error)

    def transmit(self, channel: Channel, peer: int, message: Message, request: int) -> None:
        sender, context = channel.peer, self.context
        if context is None and message.kind() <= NOTIFICATION:
            context = self._recovery(sender, message)
        channel.count(message, context is not None, self.recorder)
        self.sent += 1
        entered = self.clock.now()
        sent_ns = int(entered * 1e9)
        if not 0 <= peer < len(self.host_of):
            channel.drop(type(message), "its receiver does not exist")
            self._tell_unreachable(channel, peer, request, sent_ns, context)
            return
        leaves = self._line.leave(sender, entered, message)
        if leaves is None:
            channel.mark(UP_LINK_DROP, peer, message, context)
            return
        fate = self._faults.meet(channel, peer, message, entered, context)
        if fate.told:
            self._tell_unreachable(channel, peer, request, sent_ns, context)
        delay = None if fate.stopped_by else self.network.delay(sender, peer, self._random)
        if delay is None:
            if not fate.stopped_by:
                channel.count_lost(peer, message, context, self.recorder)
            self._line.go(sender, peer, leaves, message, None)
            return
        if not self._has_room():
            return
        parcel = self._parcel
        if parcel is None or parcel.message is not message:
            parcel = self._parcel = Parcel(message)
        passage = Passage(sender, peer, parcel, channel.name, request, sent_ns, sent_ns, context)
        self._line.go(sender, peer, leaves, message, self._faults.going(channel, passage, fate, delay))

    def hand_over(self, peer: int, outcome: Outcome) -> None:
        self.outcomes.add(peer, outcome, self.context, self.clock)
        if self._handling and self._marked is None:
            self._marked = outcome
        else:
            self.recorder.delivery(self.context, peer, self.clock.now_ns(), outcome)

    def probe(self, sender: int, receiver: int) -> None:
        """Measure the delay from a peer of this host to another peer. Protocols see nothing of it."""
        now = self.clock.now()
        due = now + self.network.one_way(sender, receiver)
        self._take(Passage(sender, receiver, None, "", 0, int(now * 1e9), int(due * 1e9), None), due)

    def receive(self, batch: wire_pb2.Batch) -> None:
        """Handle what another host sent."""
        try:
            now_ns = self.clock.now_ns()
            for envelope in batch.envelopes:
                fault = fault_of(envelope, self.host_of, self.index)
                in_turn = envelope.due_ns <= now_ns and not self.agenda.is_overdue()
                if fault:
                    self.dropped[fault] += 1
                elif in_turn or self._in_kernel or envelope.bounced:
                    self._open(envelope)
                elif self._has_room():
                    self._waiting += 1
                    self.agenda.add(max(envelope.due_ns, now_ns) * 1e-9, self._open_in_time, envelope)
        except Exception as error:
            self.fail(error)

    def give_up(self, passages: Sequence[Passage]) -> None:
        """Report passages to a host that is not reached; senders learn it after the network's time-out."""
        for passage in passages:
            if passage.parcel is not None:
                self.given_up += 1
                passage.bytes_back = passage.parcel.message.byte_size()
                self._report_unreachable(passage)

    def _tell_unreachable(
        self, channel: Channel, peer: int, request: int, sent_ns: int, context: TraceContext | None
    ) -> None:
        """Tell a message's sender that nobody is reached, when the time-out has passed since `sent_ns`."""
        passage = Passage(channel.peer, peer, None, channel.name, request, sent_ns, sent_ns, context)
        self._report_unreachable(passage)

    def _go(self, passage: Passage, way: float, leaves: float) -> None:
        """Send a message that has left its up link at `leaves` on its way, which takes so many seconds."""
        passage.departure = self._line.departure
        due, order = leaves + way, self.network.order
        passage.due_ns = int(due * 1e9)
        if order is not None:
            pair = passage.sender, passage.receiver
            passage.due_ns = order.arrival(*pair, passage.due_ns, int(leaves * 1e9))
            due = passage.due_ns * 1e-9
        self._take(passage, due)

    def _reach(self, session: Session, message: Message, passage: Passage) -> None:
        """Take a message through its receiver's down link and have it handled."""
        receiver, sender = passage.receiver, passage.sender
        if not self._line.limits_down(receiver):
            self._take_turn(session, message, passage)
            return
        going = partial(self._go_on, self._take_turn, session, message, passage)
        if not self._line.receive(receiver, sender, passage.due_ns, message, going):
            self._marks.dropped(DOWN_LINK_DROP, session, message, passage)

    def _take_turn(self, session: Session, message: Message, passage: Passage) -> None:
        """Handle a message at once, or when it is its turn."""
        if self.turns is None:
            self._handle(session, message, passage)
        else:
            self.turns.take(session, message, passage)

    def _go_on(
        self, then: Then, session: Session, message: Message, passage: Passage, at: float = 0.0
    ) -> None:
        """Go on, at `at`, with what has waited at a peer, unless the peer has gone meanwhile, also if it has
        come back with its state since."""
        is_lost = passage.due_ns < session.came_back * 1e9
        if self.sessions.get(passage.receiver) is session and not is_lost:
            then(session, message, passage)
        else:
            self._send_back(passage, message.byte_size())

    def _take(self, passage: Passage, due: float) -> None:
        """Put a message into the delay line."""
        self._waiting += 1
        if self.host_of[passage.receiver] == self.index:
            self.agenda.add(due, self._arrive, passage)
            return
        early = self.network.one_way(passage.sender, passage.receiver) if self._in_kernel else self._ahead
        self.agenda.add(max(due - early, self.clock.now()), self._depart, passage)

    def _depart(self, passage: Passage) -> None:
        self._waiting -= 1
        self.sent_to_other_hosts += 1
        passage.encode(self.breaches.system, self.clock.now())
        passage.leave_by = unhurried() if self._in_kernel else in_time(self.clock, passage.due_ns)
        self._line.passed(passage.departure, None if self._in_kernel else passage.leave_by)
        if self.wire is not None:
            self.wire.offer(self.host_of[passage.receiver], passage)

    def _arrive(self, passage: Passage) -> None:
        self._waiting -= 1
        parcel = passage.parcel
        if parcel is None:
            self.probes.keep(passage.sender, passage.sent_ns, passage.due_ns)
            return
        self._line.passed(passage.departure)
        self._faults.arrive(passage)
        session = self.sessions.get(passage.receiver)
        if session is None:
            self._send_back(passage, parcel.message.byte_size())
        else:
            self._reach(session, parcel.message, passage)

    def _has_room(self) -> bool:
        """Return whether one more message can wait here; one that cannot is counted as dropped."""
        if self._waiting >= _WAITING_LIMIT:
            self.dropped["delay line full"] += 1
        return self._waiting < _WAITING_LIMIT

    def _open_in_time(self, envelope: wire_pb2.Envelope) -> None:
        """Handle an envelope that came early, now that it is due."""
        self._waiting -= 1
        self._open(envelope)

    def _open(self, envelope: wire_pb2.Envelope) -> None:
        kind, passage = envelope.type, passage_of(envelope)
        if envelope.bounced:
            passage.bytes_back = envelope.size
            self._report_unreachable(passage)
            return
        if kind == PROBE:
            self.probes.keep(passage.sender, passage.sent_ns, passage.due_ns)
            return
        self._faults.arrive(passage)
        if (session := self.sessions.get(passage.receiver)) is None:
            self._send_back(passage, len(envelope.payload))
        else:
            try:
                message = self._decoder.decode(kind, envelope.payload)
            except KeyError:
                self._drop_unheard(kind, passage.channel)
            except (MalformedMessage, RecursionError):
                self.dropped[f"{kind} cannot be decoded"] += 1
            else:
                self._reach(session, message, passage)

    def _send_back(self, passage: Passage, size: int) -> None:
        """Tell the sender, wherever it is, that the receiver of its message of `size` bytes is down."""
        passage.bytes_back = size
        if self.host_of[passage.sender] == self.index:
            self._report_unreachable(passage)
        elif self.wire is not None:
            self.bounced += 1
            passage.bounced, passage.leave_by = True, unhurried()
            self.wire.offer(self.host_of[passage.sender], passage)

    def _handle(self, session: Session, message: Message, passage: Passage) -> None:
        if session.waiting is not None:
            session.waiting.append(partial(self._go_on, self._handle, session, message, passage))
            return
        if passage.damaged:
            refuse(session, passage.channel, type(message))
            return
        sent_in = passage.context
        if sent_in is None:
            try:
                session.receive(passage.channel, passage.sender, message, passage.request)
            except NoHandler:
                self._drop_unheard(message.NAME, passage.channel)
            except (Exception, SystemExit) as error:
                raise self._mistaken(error, session, message, passage) from error.__cause__
            self.recovery = None
            return
        recorder, topic = self.recorder, sent_in.topic
        here = sent_in.handled_in(recorder.next_span_id())
        interested = session.wants(topic)
        self.context = here
        self._handling, self._marked = True, None
        try:
            session.receive(passage.channel, passage.sender, message, passage.request)
        except NoHandler:
            self._drop_unheard(message.NAME, passage.channel)
            return
        except (Exception, SystemExit) as error:
            raise self._mistaken(error, session, message, passage) from error.__cause__
        finally:
            self.context = None
            self._handling = False
        recorder.hop(
            here,
            sent_in.span_id,
            message,
            passage.channel,
            passage.sender,
            session.peer,
            passage.sent_ns,
            self.clock.now_ns(),
            interested,
            self._marked,
        )

    def _mistaken(
        self, error: BaseException, session: Session, message: Message, passage: Passage
    ) -> Exception:
        """Return an error of the protocol that handled a message, with a note of where it was made."""
        request, channel = passage.request, passage.channel
        what = "message" if not request else "request" if request > 0 else "reply"
        by = None if request < 0 else session.handler_of(type(message), channel)
        return session.mistaken(error, handled(what, message.NAME, passage.sender, channel, by))

    def _drop_unheard(self, kind: str, channel: str) -> None:
        self.dropped[f"no handler for {kind} on channel {channel!r}"] += 1

    def _recovery(self, peer: int, message: Message) -> TraceContext:
        """Return the trace for a message about an event that is sent outside of any operation.

        All messages that a peer sends of one event and topic in one call share a trace; nothing else belongs
        to it.
        """
        topic = message.topic_number()
        about = message.event_number(), topic
        context = self.recovery
        if context is None or about != self._recovered:
            context = self.recovery = self.recorder.begin(topic if topic >= 0 else None)
            self._recovered = about
            self.recorder.operation(context, names.RECOVERY, peer, self.clock.now_ns(), {})
        return context

    def _report_unreachable(self, passage: Passage) -> None:
        """Tell the sender that the receiver is unreachable, if it is in the same session still."""
        session = self.sessions.get(passage.sender)
        if session is None or session.started_ns > passage.sent_ns:
            return
        self._marks.came_back(session, passage)
        due = passage.sent_ns * 1e-9 + self.network.unreachable_after
        tell = partial(session.notice_unreachable, passage.receiver, passage.request)
        self.agenda.add(max(due, self.clock.now()), session.resume, passage.context, tell)


def _no_contacts(peer: int, callback: Callable[[Sequence[int]], None]) -> None:
    """Call back without contacts."""
    callback(())
