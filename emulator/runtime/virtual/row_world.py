"""The rows of message pools on a virtual clock: what peers send so often that it is no object on its way.

A row takes the way that its message would take, with the same numbers of events and the same draws, so a
trial has the same telemetry whether its frequent messages are rows or objects.
"""

from __future__ import annotations

from random import Random

from librt.vecs import vec
from mypy_extensions import i64, mypyc_attr

from emulator.contract.message_pool import MessagePool
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.tables import Plan
from emulator.network.access_links import DOWN_LINK_DROP, DROPPED, NANOSECONDS, UP_LINK_DROP
from emulator.network.lone_messages import NOT_ALONE, LoneMessages
from emulator.network.peer_network import Network
from emulator.runtime.peer_channels import Channel, NoHandler
from emulator.runtime.virtual.events import Arrival, Flight, Reach
from emulator.runtime.virtual.life import VirtualLife
from emulator.runtime.virtual.linked_world import LinkedWorld
from emulator.runtime.virtual.sent_pools import SentPools
from emulator.telemetry.observation import Observation
from emulator.telemetry.recorder import Recorder


@mypyc_attr(allow_interpreted_subclasses=True)
class RowWorld(LinkedWorld):
    """The clock and the network of one trial, with the messages that are rows of pools."""

    def __init__(self, spec: TrialSpec, plan: Plan, network: Network, recorder: Recorder) -> None:
        super().__init__(spec, plan, network, recorder)
        self.messages = 0
        self._pools = SentPools(recorder)
        self._plain_network = network.is_plain
        links, shared, end = self._links, self._shared, spec.phases.end
        passes_links = not self._meets_more_than_links and self._kept is None
        self._lone: LoneMessages | None = None
        """The rows that are alone on shared links, None if links are not shared or rows do not pass them."""
        if passes_links and self._ahead and shared is not None and shared.fit_words(end):
            self._lone = LoneMessages(shared, 2 * spec.peers)
        in_order = passes_links and links is not None and links.fit_words(end)
        self._passes_rows = self._is_ideal or in_order or self._lone is not None
        """This is true if rows arrive as rows. Where the network is more than delays, jitter, loss and links,
        they are sent as the messages for which they stand."""
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
        links, lone = self._links, self._lone
        leaves = 0
        if links is not None:
            leaves = links.send(sender, links.instant(round(now * NANOSECONDS)), int(size))
            if leaves == DROPPED:
                channel.record(UP_LINK_DROP, int(size), peer, "bytes")
                return
        elif lone is not None:
            leaves = lone.send(sender, peer, round(now * NANOSECONDS), int(size))
            if leaves == NOT_ALONE:
                self._send_over(channel, peer, pool.view(row), 0, None)
                return
        if self._plain_network:
            delay = self._network.one_way(sender, peer)
        else:
            drawn = self._network.delay(sender, peer, self._network_random)
            if drawn is None:
                return
            delay = drawn
        pool.hold(row)
        self._order += 1
        at, reaches = now + delay, -1
        if links is not None:
            instant = leaves + links.instant(round(delay * NANOSECONDS))
            at = links.nanoseconds(instant) / NANOSECONDS
            if links.limits_down(peer):
                reaches = instant
        elif lone is not None:
            instant = leaves + lone.instant(round(delay * NANOSECONDS))
            if lone.limits_down(peer):
                reaches = instant
                at = max(lone.seconds(instant), now)
            else:
                at = max(lone.nanoseconds(instant) / NANOSECONDS, lone.seconds(leaves), now)
        order = i64(self._order)
        event = self._queue.push_row(at, order, number, peer, sender, channel.session, row, now, i64(reaches))
        if lone is not None:
            lone.keep(2 * sender, event, order, round(delay * NANOSECONDS))

    def _reach_row(self) -> None:
        """Take the row that the queue has popped through its receiver's down link; there is none at a peer
        that is down."""
        queue, links, lone = self._queue, self._links, self._lone
        receiver, number, row = int(queue.receiver), int(queue.pool), queue.row
        is_up, reaches = self._up[receiver] != 0, int(queue.reaches)
        if lone is not None:
            arrives = reaches
            if is_up:
                size = int(self._pools.pools[number].byte_size(row))
                arrives = lone.receive(receiver, int(queue.sender), reaches, size)
                if arrives == NOT_ALONE:
                    self._reach(Reach(self._popped(), lone.parts(reaches)))
                    return
            order = queue.order
            event = self._arrive_at(
                max(lone.nanoseconds(arrives) / NANOSECONDS, lone.seconds(arrives), self.time)
            )
            if is_up:
                lone.keep(2 * receiver + 1, event, order, 0)
        elif links is not None and is_up:
            size = int(self._pools.pools[number].byte_size(row))
            arrives = links.receive(receiver, reaches, size)
            if arrives != DROPPED:
                self._arrive_at(links.nanoseconds(arrives) / NANOSECONDS)
            else:
                self._drop_row(size)
        else:
            self._arrive_row()

    def _arrive_at(self, at: float) -> i64:
        """Have the row that the queue has popped arrive at this time. Returns the number of the event."""
        queue = self._queue
        return queue.push_row(
            at, queue.order, queue.pool, queue.receiver, queue.sender, queue.session, queue.row, queue.sent
        )

    def _drop_row(self, size: int) -> None:
        """Record that the row that the queue has popped did not fit into its receiver's down link."""
        queue, number = self._queue, int(self._queue.pool)
        life = self._lives[int(queue.receiver)]
        assert life is not None
        observed = Observation(DOWN_LINK_DROP, size, int(queue.sender), "bytes")
        name = self._pools.channels[number]
        self.recorder.observation(None, life.peer, life.session, name, self._ns(), observed)
        self._pools.pools[number].release(queue.row)

    def _popped(self) -> Arrival:
        """Return the arrival of the message for which the row stands that the queue has popped."""
        queue, number, sender = self._queue, int(self._queue.pool), int(self._queue.sender)
        name, pool = self._pools.channels[number], self._pools.pools[number]
        life = self._lives[sender]
        if life is None or life.session != queue.session:
            life = VirtualLife(self, sender, int(queue.session), Random(0))  # the sender has left since
            life.alive = False
            channel = Channel(life, name)
        else:
            channel = life.channels[name]
        message = pool.view(queue.row)
        pool.release(queue.row)
        return Arrival(
            self.time, int(queue.order), int(queue.receiver), message, channel, 0, queue.sent, None
        )

    def _settle(self, link: int, at: int) -> None:
        lone, queue = self._lone, self._queue
        if lone is None or not lone.is_there(link, at):
            return
        item: Flight | Arrival | None = None
        if lone.events[link] >= 0:
            if not queue.take_back(lone.events[link], lone.orders[link]):
                return  # it was rounded to before now, and has gone on
            arrival = self._popped()
            item = arrival if link & 1 else Flight(arrival, int(lone.ways[link]), None)
        lone.move(link, item)
        self._serve(link, at)

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
