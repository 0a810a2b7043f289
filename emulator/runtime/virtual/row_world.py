"""The rows of message pools on a virtual clock: what peers send so often that it is no object on its way.

A row takes the way that its message would take, with the same numbers of events and the same draws, so a
trial has the same telemetry whether its frequent messages are rows or objects.
"""

from __future__ import annotations

from librt.vecs import vec
from mypy_extensions import i64, mypyc_attr

from emulator.contract.message_pool import MessagePool
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.tables import Plan
from emulator.messages.message import Message
from emulator.network.access_links import DROPPED, NANOSECONDS, UP_LINK_DROP, nearest_ns
from emulator.network.peer_network import Network
from emulator.runtime.peer_channels import Channel, NoHandler
from emulator.runtime.virtual.events import NOT_BEFORE, Arrival
from emulator.runtime.virtual.fair_way import FairWay
from emulator.runtime.virtual.linked_world import LinkedWorld
from emulator.runtime.virtual.sent_pools import SentPools
from emulator.telemetry.context import TraceContext
from emulator.telemetry.recorder import Recorder


@mypyc_attr(allow_interpreted_subclasses=True)
class RowWorld(LinkedWorld):
    """The clock and the network of one trial, with the messages that are rows of pools."""

    def __init__(self, spec: TrialSpec, plan: Plan, network: Network, recorder: Recorder) -> None:
        super().__init__(spec, plan, network, recorder)
        self.messages = 0
        self._pools = SentPools(recorder)
        self._plain_network = network.is_plain
        links = self._links
        in_order = not self._meets_more_than_links and self._kept is None
        passes_links = in_order and links is not None and links.fit_words(spec.phases.end)
        fair = network.fair
        self._fair = None if fair is None else FairWay(self._queue, fair)
        """The way of all messages of the trial where links are fair and words have room for their times."""
        self._passes_rows = self._is_ideal or passes_links or fair is not None
        """This is true if rows arrive as rows. Where the network is more than delays, jitter, loss and links
        of constant rates, they are sent as the messages for which they stand."""
        self._up = vec[i64]([i64(0)] * spec.peers)
        """Each peer has a 1 here while it is up, else a 0; the arrival of a row reads no life."""

    def transmit_row(self, channel: Channel, peer: int, pool: MessagePool, row: i64) -> None:
        if self.context is not None or not (self._passes_rows and 0 <= peer < len(self._lives)):
            self.transmit(channel, peer, pool.view(row), 0)
            return
        size, sender, now = pool.byte_size(row), channel.peer, self.time
        number = self._pools.number(pool, channel, row)
        channel.count_row(self._pools.tallies[int(number)], size, self.recorder)
        self.messages += 1
        links, fair = self._links, self._fair
        leaves = 0
        if fair is not None and not fair.has_room(sender, now, size):
            channel.record(UP_LINK_DROP, int(size), peer, "bytes")
            return
        if links is not None:
            leaves = links.send(sender, links.instant(nearest_ns(now)), int(size))
            if leaves == DROPPED:
                channel.record(UP_LINK_DROP, int(size), peer, "bytes")
                return
        if self._plain_network:
            delay = self._network.one_way(sender, peer)
        else:
            drawn = self._network.delay(sender, peer, self._network_random)
            if drawn is None:
                channel.count_lost(peer, pool.view(row), None, self.recorder)
                if fair is not None:
                    fair.send(self._queue.hold(None, peer, -1), sender, peer, now, size)
                return
            delay = drawn
        pool.hold(row)
        self._order += 1
        if fair is not None:
            way = i64(nearest_ns(delay))
            event = self._queue.hold_row(self._order, number, peer, sender, channel.session, row, now, way)
            fair.send(event, sender, peer, now, size)
            return
        at, reaches = now + delay, -1
        if links is not None:
            instant = leaves + links.instant(nearest_ns(delay))
            if links.limits_down(peer):
                at, reaches = max(links.seconds(instant), now), instant
            else:
                at = max(links.nanoseconds(instant) / NANOSECONDS, now)
        self._queue.push_row(at, self._order, number, peer, sender, channel.session, row, now, i64(reaches))

    def _send_over(
        self,
        channel: Channel,
        peer: int,
        message: Message,
        request: int,
        context: TraceContext | None,
    ) -> None:
        fair, now, sender = self._fair, self.time, channel.peer
        if fair is None or not 0 <= peer < len(self._lives):
            super()._send_over(channel, peer, message, request, context)
            return
        size = message.byte_size()
        if not fair.has_room(sender, now, size):
            channel.mark(UP_LINK_DROP, peer, message, context)
            return
        delay = self._network.delay(sender, peer, self._network_random)
        arrival, way = None, -1
        if delay is not None:
            self._order += 1
            arrival = Arrival(now, self._order, peer, message, channel, request, now, context)
            way = nearest_ns(delay)
        else:
            channel.count_lost(peer, message, context, self.recorder)
        fair.send(self._queue.hold(arrival, peer, way), sender, peer, now, size)

    def _reach(self, arrival: Arrival) -> None:
        fair = self._fair
        if fair is None or self._lives[arrival.receiver] is None:
            super()._reach(arrival)
            return
        arrival.reaches = NOT_BEFORE
        event, size = self._queue.hold_again(arrival), arrival.message.byte_size()
        if not fair.enter_down(event, arrival.channel.peer, arrival.receiver, self.time, size):
            self._queue.let_go(event)
            channel = arrival.channel
            self._tell_full(arrival.receiver, channel.name, channel.peer, size, arrival.context)

    def _reach_row(self) -> None:
        """Take the row that the queue has popped through its receiver's down link; there is none at a peer
        that is down."""
        queue, links, fair = self._queue, self._links, self._fair
        receiver, number, row = int(queue.receiver), int(queue.pool), queue.row
        if not self._up[receiver]:
            self._arrive_row()
            return
        pool = self._pools.pools[number]
        size = int(pool.byte_size(row))
        if fair is not None:
            event = queue.hold_again(None)
            if fair.enter_down(event, queue.sender, receiver, self.time, size):
                return
            queue.let_go(event)
        elif links is not None:
            arrives = links.receive(receiver, int(queue.reaches), size)
            if arrives != DROPPED:
                at = max(links.nanoseconds(arrives) / NANOSECONDS, self.time)
                queue.push_row(
                    at, queue.order, queue.pool, queue.receiver, queue.sender, queue.session, row, queue.sent
                )
                return
        pool.release(row)
        self._tell_full(receiver, self._pools.channels[number], int(queue.sender), size, None)

    def _serve_fair(self) -> None:
        """Go on with what has gone through a fair link."""
        if self._fair is not None:
            self._fair.serve(self.time)

    def _arrive_row(self) -> None:
        """Hand the row that the queue has popped to its receiver, or tell its sender that this is down."""
        queue, pools = self._queue, self._pools
        number, row, receiver, sender = int(queue.pool), queue.row, int(queue.receiver), int(queue.sender)
        pool = pools.pools[number]
        if not self._up[receiver]:
            life = self._lives[sender]
            if life is not None and life.session == queue.session:
                channel = life.channels[pools.channels[number]]
                self._tell_unreachable(channel, receiver, 0, queue.sent, None)
        elif not pool.receive(receiver, sender, row, self.time):
            kind = pool.view(row).NAME
            raise NoHandler(f"peer {receiver} does not know {kind} on channel {pools.channels[number]!r}")
        pool.release(row)
