"""A world on a virtual clock: its peers, and the loop that drives them and their messages.

It is a discrete-event loop over binary heaps. Messages are passed by reference and charged their encoded
size. No wall clock decides anything: the same plan and seed give the same run.
"""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Final

from mypy_extensions import i64, mypyc_attr

from emulator.contract.mistakes import handled, placed
from emulator.contract.protocol import Application, Environment, Installation, Outcome
from emulator.contract.random_streams import stream
from emulator.contract.registry import SYSTEMS
from emulator.contract.workload import Operation
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.tables import Plan
from emulator.faults.own_clocks import own_clocks
from emulator.messages.message import NOTIFICATION, Message
from emulator.network.access_links import nearest_ns
from emulator.network.busy_peers import BusyPeers
from emulator.network.peer_network import Network
from emulator.network.processing_spec import NANOSECONDS
from emulator.runtime.breaches import Occurrences
from emulator.runtime.delivery_judge import DeliveryJudge
from emulator.runtime.fault_actor import FaultActor
from emulator.runtime.peer_channels import Channel
from emulator.runtime.plan_script import faults_hit, script_of
from emulator.runtime.script import ComeBack, GiveUp, GoDown, Join, Leave, Step, TakeUp
from emulator.runtime.script_actor import PlannedLife, ScriptActor
from emulator.runtime.tracker import Tracker
from emulator.runtime.virtual.event_queue import LINK_SERVES, ROW_ARRIVES, ROW_REACHES, Entry
from emulator.runtime.virtual.events import Arrival, Call, Departure, Handled
from emulator.runtime.virtual.life import CONTACTS_DELAY, VirtualLife, VirtualTimer
from emulator.runtime.virtual.row_world import RowWorld
from emulator.runtime.virtual.skewed_life import SkewedLife
from emulator.telemetry import names
from emulator.telemetry.context import TraceContext
from emulator.telemetry.observation import Observation
from emulator.telemetry.recorder import Recorder

HOST: Final = "virtual"
"""The name of the one host of a trial on the virtual clock."""
_AT_ONCE = 1_000_000
_AT_ONCE_BY_PEER = 10_000
_STANDS_STILL = (
    "the clock stands still: a timer without a delay sets itself again and again. Give it a delay, or use "
    "`every`"
)


@mypyc_attr(allow_interpreted_subclasses=True)
class VirtualWorld(RowWorld):
    """The clock, the network and the peers of one trial."""

    def __init__(self, spec: TrialSpec, plan: Plan, network: Network, recorder: Recorder) -> None:
        super().__init__(spec, plan, network, recorder)
        self.context: TraceContext | None = None
        self.asked = 0
        """The number of operations that peers began; those asked of peers that are down do not count."""
        self.delivered = 0
        self.handled = 0
        self.ended = 0
        """The number of sessions that ended."""
        self.most_at_once = _AT_ONCE + _AT_ONCE_BY_PEER * spec.peers
        """The number of events in a row at one time that only timers without a delay can make."""
        self._marked: Outcome | None = None
        self._handling = False
        self._last_recovery: TraceContext | None = None
        self._recovered = 0.0, -1, -1, -1
        """The time, peer, event and topic of the last recovery."""
        self.shared = {}
        self.breaches = Occurrences(spec.system.name)
        self.drops = Occurrences(spec.system.name)
        self._system = SYSTEMS[spec.system.name]
        self._parameters = self._system.parameters.model_validate(spec.system.parameters)
        self._tracker = Tracker(stream(spec.seed, "bootstrap"))
        kind = spec.workload.kind
        script = script_of(plan, kind, spec.phases.end)
        if spec.processing is not None:
            self._busy = BusyPeers(spec.processing, script.processing)
        self.deliveries = DeliveryJudge(spec.system.name, plan, script, network, kind.holding is not None)
        self._actor = ScriptActor(self, script, kind, self._create, spec.seed, spec.attackers)
        hit = faults_hit(spec, plan)
        self.faults = FaultActor(self, spec.faults, hit, self._faults, self._actor.attackers)
        self._clocks = own_clocks(spec.faults, hit)
        """The clocks of peers whose own clock is wrong."""
        for at, call in self.faults.calls():
            self.call_at(at, call)
        for step in script.steps:
            self.call_at(step.at, partial(self._act, step))

    @property
    def peers_up(self) -> int:
        return len(self._tracker)

    def contacts(self, peer: int) -> list[int]:
        return self._tracker.contacts(peer)

    def answer_delay(self) -> float:
        return CONTACTS_DELAY + self.faults.wait(self.time + CONTACTS_DELAY)

    def trial_time(self) -> float:
        return self.time

    def life_of(self, peer: int) -> PlannedLife | None:
        return self._lives[peer]

    def new_life(self, peer: int, session: int, random: Random, role: str) -> PlannedLife:
        clock = self._clocks.get(peer)
        if clock is not None:
            return SkewedLife(self, clock, peer, session, random, role)
        return VirtualLife(self, peer, session, random, role)

    def begin(self, life: PlannedLife) -> None:
        self._enter(life)

    def end(self, life: PlannedLife) -> None:
        life.alive = False
        self._exit(life.peer)
        life.leave_pools()
        self.ended += 1
        self.go_on(life.peer)

    def take_down(self, life: PlannedLife) -> None:
        assert self._pausing is not None
        self._exit(life.peer)
        self._pausing.take_down(life.peer)
        if self._busy is not None:
            self._busy.forget(life.peer)

    def bring_back(self, life: PlannedLife) -> int:
        assert self._pausing is not None
        self._enter(life)
        return self._pausing.go_on(life.peer)

    def _enter(self, life: PlannedLife) -> None:
        assert isinstance(life, VirtualLife)
        self._lives[life.peer] = life
        self._up[i64(life.peer)] = 1
        self._tracker.add(life.peer)

    def _exit(self, peer: int) -> None:
        self._lives[peer] = None
        self._up[i64(peer)] = 0
        self._tracker.remove(peer)

    def schedule(self, delay: float, timer: VirtualTimer) -> None:
        self._push(self.time + delay, timer)

    def transmit(self, channel: Channel, peer: int, message: Message, request: int) -> None:
        context = self.context
        if context is None and message.kind() <= NOTIFICATION:
            context = self._recovery(channel.peer, message)
        channel.count(message, context is not None, self.recorder)
        self.messages += 1
        if not (self._is_ideal and 0 <= peer < len(self._lives)):
            self._send_over(channel, peer, message, request, context)
            return
        if self._plain_network:
            delay = self._network.one_way(channel.peer, peer)
        else:
            drawn = self._network.delay(channel.peer, peer, self._network_random)
            if drawn is None:
                channel.count_lost(peer, message, context, self.recorder)
                return
            delay = drawn
        self._order += 1
        now = self.time
        self._queue.push(Arrival(now + delay, self._order, peer, message, channel, request, now, context))

    def hand_over(self, life: VirtualLife, outcome: Outcome) -> None:
        self.deliveries.judge(life, outcome, self.time, self.context, self.may_know(life, outcome))
        self.delivered += not isinstance(outcome, Installation)
        if self._handling and self._marked is None:
            self._marked = outcome
        else:
            self.recorder.delivery(self.context, life.peer, self._ns(), outcome)

    def may_know(self, life: VirtualLife, outcome: Outcome) -> bool:
        """Return whether messages can have brought the peer what it delivers, as far as this world sees."""
        return True

    def record_identifier(self, channel: Channel, identifier: int, space: str) -> None:
        self.recorder.take_identifier(channel.peer, channel.name, self._ns(), identifier, space)

    def record(self, channel: Channel, observed: Observation, context: TraceContext | None) -> None:
        recorder, at_ns, life = self.recorder, self._ns(), channel.life
        assert isinstance(life, PlannedLife)
        recorder.observation(context, life.peer, life.planned, channel.name, at_ns, observed)

    def run_until(self, end: float) -> None:
        """Handle all events up to trial time `end`.

        Raises NoHandler for a message that nobody knows, and what a protocol raises, with a note of who did
        it and when; RuntimeError if the clock stands still.
        """
        queue = self._queue
        entry: Entry | None = None
        looked, again = -1.0, self.handled + self.most_at_once
        try:
            while True:
                entry = queue.pop(end)
                if entry is None:
                    break
                self.time = queue.at
                self.handled += 1
                if self.handled == again:
                    if self.time == looked:
                        raise RuntimeError(_STANDS_STILL)
                    looked, again = self.time, self.handled + self.most_at_once
                if entry is ROW_ARRIVES:
                    self._arrive_row()
                elif entry is ROW_REACHES:
                    self._reach_row()
                elif entry is LINK_SERVES:
                    self._serve_fair()
                elif isinstance(entry, Arrival):
                    if entry.void:
                        continue
                    if entry.reaches >= 0:
                        self._reach(entry)
                        continue
                    if self._crossings is not None:
                        self._judge_crossing(entry)
                    if self._busy is None:
                        self._arrive(entry)
                    else:
                        self._wait_turn(entry, self._busy)
                elif isinstance(entry, Call):
                    self._fire(entry.timer)
                elif isinstance(entry, Handled):
                    self._take_turn(entry)
                elif isinstance(entry, Departure):
                    self._depart(entry)
        except (Exception, SystemExit) as error:
            peer, doing = self._in_hand(entry)
            raise placed(error, self.breaches.system, peer, self.time, doing) from error.__cause__
        self.time = end

    def snapshot(self) -> None:
        """Record counters, states and links of the peers that are up."""
        up = ((number, self._lives[number]) for number in sorted(self._tracker))
        peers = ((number, life.components()) for number, life in up if life is not None)
        for _ in self.recorder.write_snapshot(self._ns(), peers):
            pass

    def interval(self) -> None:
        """Record the totals of the whole world."""
        self.recorder.write_interval(self._ns(), self.peers_up, 0)
        up = ((number, self._lives[number]) for number in sorted(self._tracker))
        peers = [
            (number, life.sampled_components()) for number, life in up if life is not None and life.sampled
        ]
        if peers:
            for _ in self.recorder.write_samples(self._ns(), peers):
                pass

    def _in_hand(self, entry: Entry | None) -> tuple[int | None, str]:
        """Return the peer that has an event in hand, None if no single one has it, and what it does."""
        if isinstance(entry, Call):
            life = entry.timer.life
            return (None, "when its state was recorded") if life is None else (life.peer, "in a timer's call")
        if isinstance(entry, Handled):
            entry = entry.arrival
        if isinstance(entry, Arrival):
            channel, kind, request = entry.channel, type(entry.message).__name__, entry.request
            receiver = self._lives[entry.receiver] if isinstance(entry.receiver, int) else None
            told = channel.peer if receiver is None else receiver.peer
            handler = None if receiver is None else receiver.handler_of(type(entry.message), channel.name)
            what = "message" if not request else "request" if request > 0 else "reply"
            kind = getattr(entry.message, "NAME", kind)
            return told, handled(what, kind, channel.peer, channel.name, None if request < 0 else handler)
        if entry is ROW_ARRIVES or entry is ROW_REACHES:
            queue, pools, number = self._queue, self._pools, int(self._queue.pool)
            kind = pools.pools[number].view(queue.row).NAME
            sender, channel_name = int(queue.sender), pools.channels[number]
            return int(queue.receiver), handled("message", kind, sender, channel_name, None)
        return None, "in the network"

    def _create(self, environment: Environment) -> Application:
        return self._system.create(environment, self._parameters)

    def _fire(self, timer: VirtualTimer) -> None:
        callback, life = timer.callback, timer.life
        if callback is None or (life is not None and not life.alive):
            return
        if not timer.period:
            timer.callback = None
        self.context = timer.context
        callback()
        self.context = None
        if timer.period and timer.callback is not None and life is not None and life.alive:
            self._push(self.time + timer.period, timer)

    def _arrive(self, arrival: Arrival) -> None:
        receiver = self._lives[arrival.receiver]
        context = arrival.context
        if receiver is None:
            self._bounce(arrival)
        elif context is None:
            channel = arrival.channel
            receiver.receive(channel.name, channel.peer, arrival.message, arrival.request)
            self.context = None
        else:
            self._handle_traced(arrival, receiver, context)

    def _take_turn(self, handled: Handled) -> None:
        """Have a peer handle the message that has taken its time, if the peer is still there."""
        arrival, life, busy = handled.arrival, handled.life, self._busy
        assert busy is not None
        if self._lives[arrival.receiver] is not life or arrival.at < life.came_back:
            self._bounce(arrival)
        elif late_ns := busy.stood_still(life.peer) - handled.stood:
            self._end_turn_at(round(handled.at * NANOSECONDS) + late_ns, arrival, life, busy)
        else:
            self._arrive(arrival)

    def _handle_traced(self, arrival: Arrival, receiver: VirtualLife, context: TraceContext) -> None:
        message, channel = arrival.message, arrival.channel
        inner = TraceContext(
            context.trace_id, self.recorder.next_span_id(), context.depth + 1, context.topic, context.event
        )
        self.context = inner
        self._begin_handling()
        receiver.receive(channel.name, channel.peer, message, arrival.request)
        self.context = None
        self.recorder.hop(
            inner,
            context.span_id,
            message,
            channel.name,
            channel.peer,
            receiver.peer,
            nearest_ns(arrival.sent),
            self._ns(),
            receiver.wants(context.topic),
            self._end_handling(),
        )

    def _begin_handling(self) -> None:
        self._handling = True
        self._marked = None

    def _end_handling(self) -> Outcome | None:
        """Return the first outcome of the handling, which is to be marked on the message's span."""
        self._handling = False
        return self._marked

    def _recovery(self, peer: int, message: Message) -> TraceContext:
        """Return the trace of an event's message that is sent outside of any operation.

        All that a peer sends about one event and topic at one time shares a trace, and nothing else does.
        """
        topic = message.topic_number()
        about = self.time, peer, message.event_number(), topic
        context = self._last_recovery
        if context is None or about != self._recovered:
            context = self._last_recovery = self.recorder.begin(topic if topic >= 0 else None)
            self._recovered = about
            self.recorder.operation(context, names.RECOVERY, peer, self._ns(), {})
        return context

    def _act(self, step: Step) -> None:
        action, peer, pausing = step.action, step.peer, self._pausing
        if pausing is not None and pausing.is_paused(peer) and not isinstance(action, Leave):
            pausing.keep(peer, Call(self.time, 0, VirtualTimer(partial(self._act, step), None)))
        elif isinstance(action, Operation):
            if self._lives[peer] is not None:
                self.deliveries.begin(peer, action, self.time)
            self.asked += self._actor.ask(peer, action)
        elif isinstance(action, (TakeUp, GiveUp)):
            self._actor.change(peer, action)
        elif isinstance(action, Join):
            self._actor.join(peer, action, self.contacts(peer))
        elif isinstance(action, ComeBack):
            self._come_back(peer, action)
        elif (life := self._lives[peer]) is None:
            return
        elif isinstance(action, GoDown):
            self.faults.take_down(life, action.fault)
        else:
            self._actor.leave(life, action)

    def _come_back(self, peer: int, action: ComeBack) -> None:
        """Have a peer go on with the state that it had, or join if it was not up when its fault began."""
        if self.faults.bring_back(peer, action.session, action.fault):
            self.call_at(self.time, partial(self._actor.catch_up, peer))
        else:
            self._actor.join(peer, Join(action.session), self.contacts(peer))
