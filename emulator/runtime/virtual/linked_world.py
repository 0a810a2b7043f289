"""The network of a world on a virtual clock, where it is more than delays between pairs.

Messages go through links with a bandwidth, meet faults, and keep their order if the experiment asks for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from mypy_extensions import mypyc_attr

from emulator.contract.random_streams import stream
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.tables import Plan
from emulator.faults.network_faults import UNHARMED
from emulator.messages.message import Message
from emulator.network.access_links import DOWN_LINK_DROP, DROPPED, NANOSECONDS, UP_LINK_DROP, nearest_ns
from emulator.network.busy_peers import PROCESSING_DROP, BusyPeers
from emulator.network.peer_network import PEER_DOWN, Network
from emulator.network.rate_change import NEVER
from emulator.runtime.damaged import refuse
from emulator.runtime.peer_channels import Channel
from emulator.runtime.plan_script import network_faults
from emulator.runtime.virtual.event_queue import EventQueue
from emulator.runtime.virtual.events import NOT_BEFORE, Arrival, Call, Departure, Flight, Handled, Spoilt
from emulator.runtime.virtual.life import LifeHost, VirtualLife, VirtualTimer
from emulator.runtime.virtual.paused_peers import PausingQueue
from emulator.telemetry.context import TraceContext
from emulator.telemetry.observation import Observation
from emulator.telemetry.recorder import Recorder

_FIRST_DEPARTURE: Final = -(1 << 60)
"""The number of the first event of a departure, below all others."""


@mypyc_attr(allow_interpreted_subclasses=True)
class LinkedWorld(LifeHost):
    """The clock, the queue of events and the network of one trial."""

    def __init__(self, spec: TrialSpec, plan: Plan, network: Network, recorder: Recorder) -> None:
        self.time = 0.0
        self.recorder = recorder
        pauses = any(fault.pause is not None or fault.keeps_state for fault in spec.faults)
        self._pausing = PausingQueue() if pauses else None
        """The queue if peers pause, or keep their state while they are down, else None."""
        self._queue: EventQueue = EventQueue() if self._pausing is None else self._pausing
        self._order = 0
        self._lives: list[VirtualLife | None] = [None] * spec.peers
        self._network = network
        self._network_random = stream(spec.seed, "network", "jitter and loss")
        self._departures = _FIRST_DEPARTURE
        """The number of the last event of a departure. At equal times they come before all others."""
        self._kept = network.order
        self._ahead = self._pausing is None and self._kept is None
        """This is true if a message that is alone on a shared link goes on before it has left the link, which
        spares an event. If another one enters meanwhile, what was scheduled is void."""
        self._faults = network_faults(spec, plan)
        self._crossings = None if self._faults is None else self._faults.crossings
        self._busy: BusyPeers | None = None
        """The peers that take time for messages, if the experiment asks for it."""
        may_overtake = self._kept is not None and not (network.is_plain and not network.later)
        more = spec.processing or may_overtake or self._faults or spec.attackers
        if not more and self._kept is None:
            network.pack_fair_links()
        self._links = network.access
        self._shared = network.shared
        self._meets_more_than_links = bool(more or self._shared)
        self._is_ideal = not (self._links or network.fair or self._meets_more_than_links)
        """This is true if a message takes just the delay of its pair: no link has a limit, no peer takes time
        for it, no fault is asked for, no order has to be kept, and no attacker garbles numbers of peers."""
        for at, _ in network.later:
            self.call_at(at, partial(network.turn, at))
        if network.link_use():
            start, end = spec.phases.measured
            self.call_at(start, partial(network.count_links, True, start))
            for begin, _ in spec.intervals()[1:]:
                self.call_at(begin, partial(network.begin_link_interval, begin))
            self.call_at(end, partial(network.count_links, False, end))

    def call_at(self, at: float, call: Callable[[], None]) -> None:
        """Make a call that belongs to no peer."""
        self._push(at, VirtualTimer(call, None))

    def pause(self, peer: int) -> None:
        assert self._pausing is not None
        self._pausing.pause(peer)
        if self._busy is not None:
            self._busy.pause(peer, round(self.time * NANOSECONDS))

    def go_on(self, peer: int) -> int:
        if self._pausing is None:
            return 0
        if self._busy is not None:
            self._busy.go_on(peer, round(self.time * NANOSECONDS))
        return self._pausing.go_on(peer)

    def lives_up(self) -> list[tuple[int, VirtualLife]]:
        """Return the peers that are up with their lives, in the order of their numbers."""
        return [(peer, life) for peer, life in enumerate(self._lives) if life is not None]

    def _send_over(
        self,
        channel: Channel,
        peer: int,
        message: Message,
        request: int,
        context: TraceContext | None,
    ) -> None:
        """Send a message where the network is not ideal."""
        now, links, shared, sender = self.time, self._links, self._shared, channel.peer
        if not 0 <= peer < len(self._lives):
            channel.drop(type(message), "its receiver does not exist")
            self._tell_unreachable(channel, peer, request, now, context)
            return
        leaves = size = 0
        if links is not None:
            leaves = links.send(sender, links.instant(round(now * NANOSECONDS)), message.byte_size())
            if leaves == DROPPED:
                channel.mark(UP_LINK_DROP, peer, message, context)
                return
        elif shared is not None:
            leaves, size = shared.instant(round(now * NANOSECONDS)), message.byte_size()
            if shared.limits(2 * sender) and not shared.fits(2 * sender, leaves, size):
                channel.mark(UP_LINK_DROP, peer, message, context)
                return
        fate = UNHARMED
        if self._faults is not None:
            fate = self._faults.becomes(sender, peer, now, self._network_random)
            for observation in fate.observed():
                channel.mark(observation, peer, message, context)
            if fate.stopped_by:
                if fate.told:
                    self._tell_unreachable(channel, peer, request, now, context)
                self._pass_up_link(sender, peer, leaves, size, None)
                return
        delay = self._network.delay(sender, peer, self._network_random)
        if delay is None:
            channel.count_lost(peer, message, context, self.recorder)
            self._pass_up_link(sender, peer, leaves, size, None)
            return
        self._order += 1
        at, way = now + delay + fate.later, delay + fate.later
        arrival = Arrival(at, self._order, peer, message, channel, request, now, context)
        twin = None
        if fate is not UNHARMED:
            if fate.damaged_by:
                arrival = Spoilt(arrival)
            if fate.twice_by:
                twin = self._twin_of(arrival, fate.later)
        if shared is not None:
            flight = Flight(arrival, round(way * NANOSECONDS), twin)
            self._pass_up_link(sender, peer, leaves, size, flight)
            return
        self._go(arrival, way, leaves)
        if twin is not None:
            self._go(twin, twin.at - now, leaves)

    def _twin_of(self, arrival: Arrival, later: float) -> Arrival | None:
        """Return the second copy of a message that arrives twice; None if that is lost, which is counted."""
        channel, peer, now = arrival.channel, arrival.receiver, arrival.sent
        delay = self._network.delay(channel.peer, peer, self._network_random)
        if delay is None:
            channel.count_lost(peer, arrival.message, arrival.context, self.recorder)
            return None
        self._order += 1
        twin = arrival.again(now + delay + later, self._order)
        return Spoilt(twin) if isinstance(arrival, Spoilt) else twin

    def _go(self, arrival: Arrival, way: float, leaves: int) -> None:
        """Send a message on its way, which takes so many seconds; `leaves` is when it left its up link."""
        links, kept, now = self._links, self._kept, self.time
        sender, peer = arrival.channel.peer, arrival.receiver
        if links is None:
            if kept is not None:
                due = kept.arrival(sender, peer, round(arrival.at * NANOSECONDS), round(now * NANOSECONDS))
                arrival.at = max(due / NANOSECONDS, now)
            self._put(arrival)
            return
        reaches = leaves + links.instant(round(way * NANOSECONDS))
        if kept is not None:
            reaches = kept.arrival(sender, peer, reaches, links.instant(round(now * NANOSECONDS)))
        if links.limits_down(peer):
            # Messages whose last bits come within one nanosecond take their turns in the order of these.
            arrival.at = max(links.seconds(reaches), now)
            arrival.reaches = reaches
            self._queue.push(arrival)
        else:
            arrival.at = max(links.nanoseconds(reaches) / NANOSECONDS, now)
            self._put(arrival)

    def _put(self, arrival: Arrival) -> None:
        """Have a message arrive at its time, or be refused then if it is damaged."""
        if isinstance(arrival, Spoilt):
            refusal = VirtualTimer(partial(self._refuse, arrival), arrival.context, None)
            self._queue.push(Call(arrival.at, arrival.order, refusal))
        else:
            self._queue.push(arrival)

    def _refuse(self, arrival: Arrival) -> None:
        """Have the receiver drop a damaged message, if it is there."""
        self._judge_crossing(arrival)
        life = self._lives[arrival.receiver]
        if life is None:
            self._bounce(arrival)
        else:
            refuse(life, arrival.channel.name, type(arrival.message))

    def _judge_crossing(self, arrival: Arrival) -> None:
        """Judge whether a message that arrives has crossed a partition, if there is any."""
        if self._crossings is not None:
            self._crossings.judge(arrival.channel.peer, arrival.receiver, arrival.sent, self.time)

    def _wait_turn(self, arrival: Arrival, busy: BusyPeers) -> None:
        """Have a message wait until its receiver, which is busy with others, has handled it."""
        life = self._lives[arrival.receiver]
        if life is None:
            self._bounce(arrival)
            return
        handled_ns = busy.handled_at(life.peer, life.session, round(self.time * NANOSECONDS))
        if handled_ns >= 0:
            self._end_turn_at(handled_ns, arrival, life, busy)
            return
        observed = Observation(PROCESSING_DROP, arrival.message.byte_size(), arrival.channel.peer, "bytes")
        self.recorder.observation(
            arrival.context, life.peer, life.session, arrival.channel.name, self._ns(), observed
        )

    def _end_turn_at(self, at_ns: int, arrival: Arrival, life: VirtualLife, busy: BusyPeers) -> None:
        """Have a peer's turn with a message end at this time, or later by as long as it is paused."""
        self._order += 1
        at = max(at_ns / NANOSECONDS, self.time)
        self._queue.push(Handled(at, self._order, arrival, life, busy.stood_still(life.peer)))

    def _bounce(self, arrival: Arrival) -> None:
        """Tell the sender, after the network's time-out, that the receiver is down.

        A sender that is up marks it in the operation of the message, unless a fault has marked that the
        message was damaged. Messages outside of operations have no spans, and so no mark.
        """
        channel, request, context = arrival.channel, arrival.request, arrival.context
        sender = channel.life
        assert isinstance(sender, VirtualLife)
        if context is not None and sender.alive and not sender.away and not isinstance(arrival, Spoilt):
            channel.mark(PEER_DOWN, arrival.receiver, arrival.message, context)
        self._tell_unreachable(channel, arrival.receiver, request, arrival.sent, context)

    def _reach(self, arrival: Arrival) -> None:
        """Take a message through its receiver's down link; there is none at a peer that is down."""
        instant, links, shared = arrival.reaches, self._links, self._shared
        receiver = self._lives[arrival.receiver]
        arrival.reaches = NOT_BEFORE
        if receiver is None or (links is None and shared is None):
            self._arrive_later(arrival)
            return
        size = arrival.message.byte_size()
        if links is not None:
            arrives = links.receive(arrival.receiver, instant, size)
            if arrives != DROPPED:
                arrival.at = links.nanoseconds(arrives) / NANOSECONDS
                self._arrive_later(arrival)
                return
        elif shared is not None:
            link = 2 * arrival.receiver + 1
            if shared.fits(link, instant, size):
                self._take_back(shared.enter(link, arrival.channel.peer, instant, size, arrival))
                if self._ahead and not isinstance(arrival, Spoilt):
                    arrives = shared.send_ahead(link)
                    if arrives != NEVER:
                        self._arrive_after(arrival, arrives)
                        return
                self._serve(link, instant)
                return
        channel = arrival.channel
        self._tell_full(arrival.receiver, channel.name, channel.peer, size, arrival.context)

    def _tell_full(
        self, receiver: int, channel: str, sender: int, size: int, context: TraceContext | None
    ) -> None:
        """Record that a message did not fit into its receiver's down link."""
        life = self._lives[receiver]
        assert life is not None
        observed = Observation(DOWN_LINK_DROP, size, sender, "bytes")
        self.recorder.observation(context, receiver, life.session, channel, self._ns(), observed)

    def _pass_up_link(self, sender: int, receiver: int, now: int, size: int, flight: Flight | None) -> None:
        """Take a message through its sender's up link if links are shared; with None it is lost after it."""
        shared = self._shared
        if shared is None:
            return
        link = 2 * sender
        if not shared.limits(link):
            if flight is not None:
                self._cross(flight, now)
            return
        self._take_back(shared.enter(link, receiver, now, size, flight))
        if self._ahead and flight is not None and flight.twin is None and type(flight.arrival) is Arrival:
            leaves = shared.send_ahead(link)
            if leaves != NEVER:
                self._cross_by(flight.arrival, flight.way_ns, leaves)
                return
        self._serve(link, now)

    def _take_back(self, item: object) -> None:
        """Void what was scheduled for a message that was alone on a shared link and is not any more."""
        if isinstance(item, Flight):
            arrival = item.arrival
            arrival.void = True
            item.arrival = arrival.again(arrival.at, arrival.order)
        elif isinstance(item, Arrival):
            item.void = True

    def _depart(self, departure: Departure) -> None:
        """Go on with what has gone through a shared link."""
        shared = self._shared
        if shared is not None and shared.is_awaited(departure.link, departure.instant):
            self._serve(departure.link, departure.instant)

    def _serve(self, link: int, until: int) -> None:
        """Go on with what has gone through a shared link up to this time, and come back for what is next."""
        shared = self._shared
        assert shared is not None
        for leaves, item in shared.take(link, until):
            if isinstance(item, Flight):
                self._cross(item, leaves)
            elif isinstance(item, Arrival):
                self._arrive_after(item.again(item.at, item.order) if item.void else item, leaves)
        due = shared.await_next(link)
        if due != NEVER:
            self._departures += 1
            at = max(shared.seconds(due), self.time)
            self._queue.push(Departure(at, self._departures, link, due))

    def _cross(self, flight: Flight, leaves: int) -> None:
        """Send a message that has left its sender's shared up link on its way."""
        arrival, twin = flight.arrival, flight.twin
        self._cross_by(arrival, flight.way_ns, leaves)
        if twin is not None:
            self._cross_by(twin, round((twin.at - twin.sent) * NANOSECONDS), leaves)

    def _cross_by(self, arrival: Arrival, way_ns: int, leaves: int) -> None:
        """Send one copy of a message on its way, which takes so many nanoseconds."""
        shared, kept = self._shared, self._kept
        assert shared is not None
        reaches = leaves + shared.instant(way_ns)
        if kept is not None:
            reaches = kept.arrival(arrival.channel.peer, arrival.receiver, reaches, leaves)
        if not shared.limits(2 * arrival.receiver + 1):
            arrival.at = max(shared.nanoseconds(reaches) / NANOSECONDS, shared.seconds(leaves))
            self._arrive_later(arrival)
            return
        arrival.at = max(shared.seconds(reaches), self.time)
        arrival.reaches = reaches
        self._queue.push(arrival)

    def _arrive_after(self, arrival: Arrival, instant: int) -> None:
        """Have a message arrive when its last bit has gone through a shared link, at this instant."""
        shared = self._shared
        assert shared is not None
        arrival.at = max(shared.nanoseconds(instant) / NANOSECONDS, shared.seconds(instant))
        self._arrive_later(arrival)

    def _arrive_later(self, arrival: Arrival) -> None:
        """Have a message arrive at its time, or now if that was rounded to before now."""
        arrival.at = max(arrival.at, self.time)
        self._put(arrival)

    def _tell_unreachable(
        self, channel: Channel, peer: int, request: int, sent: float, context: TraceContext | None
    ) -> None:
        sender = channel.life
        assert isinstance(sender, VirtualLife)
        if sender.alive and not sender.away:
            tell = partial(sender.notice_unreachable, peer, request)
            at = max(self.time, sent + self._network.unreachable_after)
            self._push(at, VirtualTimer(tell, context, sender))

    def _push(self, at: float, timer: VirtualTimer) -> None:
        self._order += 1
        self._queue.push(Call(at, self._order, timer))

    def _ns(self) -> int:
        return nearest_ns(self.time)
