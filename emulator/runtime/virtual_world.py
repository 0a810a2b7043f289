"""A world on a virtual clock: its peers, its links, and the loop that drives them.

A discrete-event loop over binary heaps. Messages are passed by reference and charged their encoded
size. No wall clock decides anything: the same plan and seed give the same run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from emulator.experiment.plan import Plan
from emulator.experiment.spec import TrialSpec
from emulator.network.model import Network
from emulator.protocol import Contact, Handler, LookupService, PubSub, TopicInterest
from emulator.registry import SYSTEMS
from emulator.runtime.event_queue import Entry, EventQueue
from emulator.runtime.plan_script import script_of
from emulator.runtime.script import Join, Leave, LookUp, Publish, Step, Subscribe, Unsubscribe
from emulator.runtime.tracker import Tracker
from emulator.runtime.virtual_peer import VirtualPeer, VirtualTimer
from emulator.streams import stream
from emulator.telemetry import names
from emulator.telemetry.context import TraceContext
from emulator.telemetry.recorder import Recorder


class VirtualWorld:
    """The clock, the links and the peers of one trial."""

    def __init__(self, spec: TrialSpec, plan: Plan, network: Network, recorder: Recorder) -> None:
        self.now = 0.0
        self.queue = EventQueue()
        self.order = 0
        self.context: TraceContext | None = None
        self.messages = 0
        self.published = 0
        self.lookups = 0
        self.delivered = 0
        self.delivered_hops: int | None = None
        self.handled = 0
        self.network = network
        self.network_random = stream(spec.seed, "network", "jitter and loss")
        self.plain_network = not network.jitter and not network.loss
        self.recorder = recorder
        self._unreachable_after = network.unreachable_after
        self._system = SYSTEMS[spec.system.name]
        self._parameters = self._system.parameters.model_validate(spec.system.parameters)
        self._tracker = Tracker(stream(spec.seed, "bootstrap"))
        self.peers = [
            VirtualPeer(self, number, stream(spec.seed, "peer", number)) for number in range(spec.peers)
        ]
        self._script = script_of(plan, spec.phases.end)
        for step in self._script.steps:
            self._at(step.at, partial(self._act, step))

    @property
    def peers_up(self) -> int:
        return len(self._tracker)

    def schedule(self, at: float, timer: VirtualTimer, peer: VirtualPeer) -> None:
        """Call the timer at trial time `at` if the peer is still in the same life."""
        self.order += 1
        self.queue.push((at, self.order, None, timer, peer, peer.life))

    def contacts(self, peer: int) -> list[Contact]:
        """A random few live peers, as a tracker would tell."""
        return [Contact(other) for other in self._tracker.contacts(peer)]

    def call_at(self, at: float, call: Callable[[], None]) -> None:
        """Make a call that belongs to no peer."""
        self._at(at, call)

    def run_until(self, end: float) -> None:
        """Handle everything that is due up to trial time `end`."""
        pop = self.queue.pop
        while (entry := pop(end)) is not None:
            self.now = entry[0]
            receiver = entry[2]
            self.handled += 1
            if receiver is None:
                self._fire(entry)
                continue
            message = entry[3]
            handler = receiver.handlers.get(message.__class__)
            if handler is None:
                self._bounce(entry)
                continue
            context = entry[8]
            if context is None:
                handler(entry[4].number, message)
            else:
                self._handle_traced(entry, handler, context)
        self.now = end

    def snapshot(self) -> None:
        """Record counters, states and links of the peers that are up."""
        up = [(number, self.peers[number].protocol) for number in sorted(self._tracker)]
        peers = ((number, p, p.neighbours()) for number, p in up if p is not None)
        for _ in self.recorder.write_snapshot(self._ns(), peers):
            pass

    def interval(self) -> None:
        """Record the totals of the whole world."""
        self.recorder.write_interval(self._ns(), self.peers_up, 0)

    def _at(self, at: float, call: Callable[[], None]) -> None:
        self.order += 1
        self.queue.push((at, self.order, None, VirtualTimer(call, None), None, 0))

    def _ns(self) -> int:
        return int(self.now * 1e9)

    def _fire(self, entry: Entry) -> None:
        timer: VirtualTimer = entry[3]
        peer: VirtualPeer | None = entry[4]
        callback = timer.callback
        if callback is None or (peer is not None and peer.life != entry[5]):
            return
        if not timer.period:
            timer.callback = None
        if timer.context is None:
            callback()
        else:
            self._call_traced(callback, timer.context, peer)
        if peer is not None and timer.period and timer.callback is not None and peer.life == entry[5]:
            self.schedule(self.now + timer.period, timer, peer)

    def _call_traced(
        self, callback: Callable[[], None], context: TraceContext, peer: VirtualPeer | None
    ) -> None:
        self.context = context
        self.delivered_hops = None
        callback()
        self.context = None
        if self.delivered_hops is not None and peer is not None:
            self.recorder.timer(context, peer.number, self._ns(), self.delivered_hops)

    def _handle_traced(self, entry: Entry, handler: Handler, context: TraceContext) -> None:
        _, _, receiver, message, sender, _, sent, size, _ = entry
        inner = TraceContext(context.trace_id, self.recorder.next_span_id(), context.depth + 1, context.topic)
        self.context = inner
        self.delivered_hops = None
        handler(sender.number, message)
        self.context = None
        self.recorder.hop(
            inner,
            context.span_id,
            message.__class__.__name__,
            sender.number,
            receiver.number,
            int(sent * 1e9),
            self._ns(),
            size,
            context.topic in receiver.topics,
            self.delivered_hops,
        )

    def _bounce(self, entry: Entry) -> None:
        """The receiver is down: its sender learns so after the network's time-out."""
        _, _, receiver, _, sender, life, sent, _, context = entry

        def tell() -> None:
            if sender.life == life and sender.protocol is not None:
                sender.protocol.on_unreachable(receiver.number)

        if sender.life == life:
            at = max(self.now, sent + self._unreachable_after)
            self.schedule(at, VirtualTimer(tell, context, sender), sender)

    def _act(self, step: Step) -> None:
        peer = self.peers[step.peer]
        match step.action:
            case Join():
                self._join(peer, step.action)
            case Leave():
                self._leave(peer, step.action)
            case Subscribe() | Unsubscribe() if peer.protocol is not None:
                self._change_interest(peer, step.action)
            case Publish(event) if isinstance(protocol := peer.protocol, PubSub):
                attributes: dict[str, int | bool] = {names.EVENT: event.number}
                if event.topic is not None:
                    attributes[names.INTERESTED] = event.topic in peer.topics
                self.published += 1
                self._operate(peer, "publish", attributes, partial(protocol.publish, event), event.topic)
            case LookUp(number, key) if isinstance(protocol := peer.protocol, LookupService):
                self.lookups += 1
                self._operate(peer, "lookup", {names.LOOKUP: number}, partial(protocol.lookup, number, key))

    def _operate(
        self,
        peer: VirtualPeer,
        operation: str,
        attributes: Mapping[str, int | bool],
        call: Callable[[], None],
        topic: int | None = None,
    ) -> None:
        """Make the call in a trace of its own."""
        context = self.context = self.recorder.begin(topic)
        self.delivered_hops = None
        call()
        self.context = None
        self.recorder.operation(context, operation, peer.number, self._ns(), attributes, self.delivered_hops)

    def _join(self, peer: VirtualPeer, action: Join) -> None:
        protocol = self._system.create(peer, self._parameters)
        for _, interest in self._script.interests(peer.number, self.now):
            assert isinstance(protocol, PubSub)
            protocol.subscribe(interest)
            if isinstance(interest, TopicInterest):
                peer.topics.add(interest.topic)
        contacts = self.contacts(peer.number)
        peer.protocol = protocol
        peer.handlers = protocol.handlers()
        self._tracker.add(peer.number)
        self._operate(peer, "join", {names.SESSION: action.session}, partial(protocol.start, contacts))

    def _leave(self, peer: VirtualPeer, action: Leave) -> None:
        assert peer.protocol is not None
        attributes = {names.SESSION: action.session, names.GRACEFUL: action.graceful}
        stop = partial(peer.protocol.stop, graceful=True) if action.graceful else _crash
        self._operate(peer, "leave", attributes, stop)
        peer.protocol = None
        peer.handlers = {}
        peer.topics.clear()
        peer.life += 1
        self._tracker.remove(peer.number)

    def _change_interest(self, peer: VirtualPeer, action: Subscribe | Unsubscribe) -> None:
        protocol, interest = peer.protocol, action.interest
        assert isinstance(protocol, PubSub)
        topic = interest.topic if isinstance(interest, TopicInterest) else None
        if isinstance(action, Subscribe):
            operation, note, change = "subscribe", peer.topics.add, protocol.subscribe
        else:
            operation, note, change = "unsubscribe", peer.topics.discard, protocol.unsubscribe
        if topic is not None:
            note(topic)
        self._operate(peer, operation, {names.INTEREST: action.number}, partial(change, interest), topic)


def _crash() -> None:
    """What a peer that crashes can still do."""
