"""The network of a world on a virtual clock, where it is more than delays between pairs.

Messages go through links with a bandwidth, meet faults, and keep their order if the experiment asks for it.
"""

from __future__ import annotations

from functools import partial

from mypy_extensions import mypyc_attr

from emulator.contract.random_streams import stream
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.tables import Plan
from emulator.faults.network_faults import FAULT, TOLD
from emulator.messages.message import Message
from emulator.network.access_links import DOWN_LINK_DROP, DROPPED, NANOSECONDS, UP_LINK_DROP
from emulator.network.links import Network
from emulator.runtime.peer_channels import Channel
from emulator.runtime.plan_script import network_faults
from emulator.runtime.virtual.event_queue import EventQueue
from emulator.runtime.virtual.events import Arrival, Call, Reach
from emulator.runtime.virtual.life import LifeHost, VirtualLife, VirtualTimer
from emulator.telemetry.context import TraceContext
from emulator.telemetry.observation import Observation
from emulator.telemetry.recorder import Recorder


@mypyc_attr(allow_interpreted_subclasses=True)
class LinkedWorld(LifeHost):
    """The clock, the queue of events and the network of one trial."""

    def __init__(self, spec: TrialSpec, plan: Plan, network: Network, recorder: Recorder) -> None:
        self.time = 0.0
        self.recorder = recorder
        self._queue = EventQueue()
        self._order = 0
        self._lives: list[VirtualLife | None] = [None] * spec.peers
        self._network = network
        self._network_random = stream(spec.seed, "network", "jitter and loss")
        self._links = network.access
        self._kept = network.order
        self._faults = network_faults(spec, plan)
        may_overtake = self._kept is not None and not network.is_plain
        self._is_ideal = not (self._links or self._faults or spec.attackers or may_overtake)
        """Whether links have no limit, no fault is asked for, jitter may change the order of messages, and no
        attacker garbles numbers of peers."""

    def _send_over(
        self,
        channel: Channel,
        peer: int,
        message: Message,
        request: int,
        context: TraceContext | None,
    ) -> None:
        """Send a message where the network is not ideal."""
        now, links, sender = self.time, self._links, channel.peer
        if not 0 <= peer < len(self._lives):
            channel.drop(type(message), "its receiver does not exist")
            self._tell_unreachable(channel, peer, request, now, context)
            return
        leaves = 0
        if links is not None:
            leaves = links.send(sender, links.instant(round(now * NANOSECONDS)), message.byte_size())
            if leaves == DROPPED:
                channel.record(UP_LINK_DROP, message.byte_size(), peer, "bytes")
                return
        later = 0.0
        if self._faults is not None:
            later, fault = self._faults.becomes(sender, peer, now, self._network_random)
            if later < 0.0:
                channel.record(f"{FAULT} {fault}", message.byte_size(), peer, "bytes")
                if later == TOLD:
                    self._tell_unreachable(channel, peer, request, now, context)
                return
        delay = self._network.delay(sender, peer, self._network_random)
        if delay is None:
            return
        self._order += 1
        arrival = Arrival(now + delay + later, self._order, peer, message, channel, request, now, context)
        kept = self._kept
        if links is None:
            if kept is not None:
                due = kept.arrival(sender, peer, round(arrival.at * NANOSECONDS), round(now * NANOSECONDS))
                arrival.at = max(due / NANOSECONDS, now)
            self._queue.push(arrival)
            return
        reaches = leaves + links.instant(round((delay + later) * NANOSECONDS))
        if kept is not None:
            reaches = kept.arrival(sender, peer, reaches, links.instant(round(now * NANOSECONDS)))
        arrival.at = links.nanoseconds(reaches) / NANOSECONDS
        self._queue.push(Reach(arrival, reaches) if links.limits_down(peer) else arrival)

    def _reach(self, reach: Reach) -> None:
        """Take a message through its receiver's down link; there is none at a peer that is down."""
        arrival, links = reach.arrival, self._links
        receiver = self._lives[arrival.receiver]
        if receiver is None or links is None:
            self._queue.push(arrival)
            return
        size = arrival.message.byte_size()
        arrives = links.receive(arrival.receiver, reach.instant, size)
        if arrives != DROPPED:
            arrival.at = links.nanoseconds(arrives) / NANOSECONDS
            self._queue.push(arrival)
        else:
            observed = Observation(DOWN_LINK_DROP, size, arrival.channel.peer, "bytes")
            at_ns, session = self._ns(), receiver.session
            self.recorder.observation(
                arrival.context, arrival.receiver, session, arrival.channel.name, at_ns, observed
            )

    def _tell_unreachable(
        self, channel: Channel, peer: int, request: int, sent: float, context: TraceContext | None
    ) -> None:
        sender = channel.life
        assert isinstance(sender, VirtualLife)
        if sender.alive:
            tell = partial(sender.notice_unreachable, peer, request)
            at = max(self.time, sent + self._network.unreachable_after)
            self._push(at, VirtualTimer(tell, context, sender))

    def _push(self, at: float, timer: VirtualTimer) -> None:
        self._order += 1
        self._queue.push(Call(at, self._order, timer))

    def _ns(self) -> int:
        return int(self.time * 1e9)
