"""The real-time runtime: the peers of one host, their clock, timers and messages.

One-way delay is enforced at the sender: a message waits in the agenda until it is due, then goes to
the receiving peer by reference, or to its host over a link.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Protocol as Interface

from google.protobuf.message import DecodeError, Message
from trellis.v1 import control_pb2, wire_pb2

from emulator.messages import message_class
from emulator.network.model import Network
from emulator.protocol import Contact
from emulator.runtime.agenda import Agenda
from emulator.runtime.clock import TrialClock
from emulator.runtime.passage import PROBE, Passage, read_context
from emulator.runtime.session import Session
from emulator.telemetry.context import TraceContext
from emulator.telemetry.recorder import Recorder

GATHERING = 0.008
"""Wall seconds for which a batch of messages to one host is gathered."""
_WAITING_LIMIT = 500_000
"""Messages and timers of a host that may wait at a time; messages beyond are dropped and counted."""
_PROBE_LIMIT = 100_000
"""Probes that a host keeps."""


class Wire(Interface):
    """Takes messages to other hosts."""

    def offer(self, host: int, passage: Passage) -> None:
        """Send without waiting; what cannot be sent goes to `Host.give_up` or is counted as dropped."""
        ...


class Host:
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
    ) -> None:
        """`host_of` gives the index of each peer's host; `failed` is told of an error in a protocol.

        With `in_kernel`, the kernel delays what goes to other hosts.
        """
        self.index = index
        self.host_of = host_of
        self.network = network
        self.clock = clock
        self.recorder = recorder
        self.agenda = Agenda(clock, failed)
        self.wire: Wire | None = None
        self.find_contacts: Callable[[int, Callable[[Sequence[Contact]], None]], None] = _no_contacts
        """Asks the bootstrap service on behalf of a peer that is up."""
        self.sessions: dict[int, Session] = {}
        """The peers of this host that are up."""
        self.context: TraceContext | None = None
        """The operation that is being handled."""
        self.delivered_hops: int | None = None
        """Hops of what the call being made delivered."""
        self.sent = self.sent_to_other_hosts = self.bounced = 0
        self.joined = self.published = self.lookups = self.delivered = 0
        self.dropped: Counter[str] = Counter()
        """Envelopes that the emulation lost, by cause; loss that the network was asked for is not here."""
        self.probes: list[control_pb2.Probe] = []
        self._head_start = GATHERING / 2 / clock.scale
        """Trial seconds that a message to another host leaves early: batches are late by as much."""
        self._in_kernel = in_kernel
        self._random = random
        self._failed = failed
        self._last: Message | None = None
        self._payload = b""
        self._type = ""

    def send(self, session: Session, receiver: int, message: Message) -> None:
        """Start a message on its way."""
        if message is not self._last:
            self._last = message
            self._payload = message.SerializeToString()
            self._type = message.__class__.__name__
        sender = session.peer
        context = self.context
        self.sent += 1
        traced = context is not None
        counters = session.counters[traced]
        counter = counters.get(self._type)
        if counter is None:
            counter = counters[self._type] = self.recorder.counter(sender, self._type, traced)
        counter[0] += 1
        counter[1] += len(self._payload)
        delay = self.network.delay(sender, receiver, self._random)
        if delay is None:
            return
        if len(self.agenda) >= _WAITING_LIMIT:
            self.dropped["delay line full"] += 1
            return
        now = self.clock.now()
        due = now + delay
        passage = Passage(
            sender, receiver, message, self._payload, self._type, int(now * 1e9), int(due * 1e9), context
        )
        self._take(passage, due)

    def probe(self, sender: int, receiver: int) -> None:
        """Measure the way from a peer of this host to another peer; nothing of it reaches a protocol."""
        now = self.clock.now()
        due = now + self.network.one_way(sender, receiver)
        passage = Passage(sender, receiver, None, b"", PROBE, int(now * 1e9), int(due * 1e9), None)
        self._take(passage, due)

    def receive(self, batch: wire_pb2.Batch) -> None:
        """Handle what another host sent."""
        try:
            for envelope in batch.envelopes:
                self._open(envelope)
        except Exception as error:
            self.agenda.stop()
            self._failed(error)

    def give_up(self, passages: Sequence[Passage]) -> None:
        """The receivers' host cannot be reached: their senders learn it after the network's time-out."""
        for passage in passages:
            if not passage.bounced and passage.type != PROBE:
                self._report_unreachable(passage)

    def _take(self, passage: Passage, due: float) -> None:
        """Put a message into the delay line."""
        if self.host_of[passage.receiver] == self.index:
            self.agenda.add(due, self._arrive, passage)
        elif self._in_kernel:
            base = self.network.one_way(passage.sender, passage.receiver)
            self.agenda.add(due - base, self._depart, passage)
        else:
            self.agenda.add(due - self._head_start, self._depart, passage)

    def _depart(self, passage: Passage) -> None:
        self.sent_to_other_hosts += 1
        if self.wire is not None:
            self.wire.offer(self.host_of[passage.receiver], passage)

    def _arrive(self, passage: Passage) -> None:
        if passage.type == PROBE:
            self._keep_probe(passage.sender, passage.sent_ns, passage.due_ns)
            return
        session = self.sessions.get(passage.receiver)
        if session is None:
            self._report_unreachable(passage)
            return
        assert passage.message is not None
        self._handle(
            session,
            passage.sender,
            passage.message,
            passage.type,
            len(passage.payload),
            passage.sent_ns,
            passage.context,
        )

    def _open(self, envelope: wire_pb2.Envelope) -> None:
        kind = envelope.type
        context = read_context(envelope)
        sender, receiver, sent_ns = envelope.sender, envelope.receiver, envelope.sent_ns
        if sender >= len(self.host_of):
            self.dropped["unknown sender"] += 1
            return
        if envelope.bounced:
            self._report_unreachable(
                Passage(sender, receiver, None, b"", kind, sent_ns, envelope.due_ns, context)
            )
            return
        if kind == PROBE:
            self._keep_probe(sender, sent_ns, envelope.due_ns)
            return
        session = self.sessions.get(receiver)
        if session is None:
            self.bounced += 1
            if self.wire is not None:
                answer = Passage(sender, receiver, None, b"", kind, sent_ns, envelope.due_ns, context, True)
                self.wire.offer(self.host_of[sender], answer)
            return
        try:
            message = message_class(kind).FromString(envelope.payload)
        except KeyError:
            self.dropped[f"no handler for {kind[:80]}"] += 1
            return
        except DecodeError:
            self.dropped[f"{kind} cannot be decoded"] += 1
            return
        self._handle(session, sender, message, kind, len(envelope.payload), sent_ns, context)

    def _handle(
        self,
        session: Session,
        sender: int,
        message: Message,
        kind: str,
        size: int,
        sent_ns: int,
        sent_in: TraceContext | None,
    ) -> None:
        handler = session.handlers.get(type(message))
        if handler is None:
            self.dropped[f"no handler for {kind}"] += 1
            return
        if sent_in is None:
            handler(sender, message)
            return
        recorder = self.recorder
        topic = sent_in.topic
        here = TraceContext(sent_in.trace_id, recorder.next_span_id(), sent_in.depth + 1, topic)
        interested = session.wants(topic)
        self.context = here
        self.delivered_hops = None
        try:
            handler(sender, message)
        finally:
            self.context = None
        recorder.hop(
            here,
            sent_in.span_id,
            kind,
            sender,
            session.peer,
            sent_ns,
            self.clock.now_ns(),
            size,
            interested,
            self.delivered_hops,
        )

    def _report_unreachable(self, passage: Passage) -> None:
        session = self.sessions.get(passage.sender)
        if session is None or session.started_ns > passage.sent_ns:
            return
        due = passage.sent_ns * 1e-9 + self.network.unreachable_after
        self.agenda.add(
            max(due, self.clock.now()), session.notice_unreachable, passage.receiver, passage.context
        )

    def _keep_probe(self, sender: int, sent_ns: int, due_ns: int) -> None:
        if len(self.probes) < _PROBE_LIMIT:
            self.probes.append(
                control_pb2.Probe(
                    sending_host=self.host_of[sender],
                    sent_ns=sent_ns,
                    due_ns=due_ns,
                    received_ns=self.clock.now_ns(),
                )
            )


def _no_contacts(peer: int, callback: Callable[[Sequence[Contact]], None]) -> None:
    callback(())
