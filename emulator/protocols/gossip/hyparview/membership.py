"""HyParView: a membership for gossip-based broadcast (Leitao, Pereira, Rodrigues, DSN 2007).

The active view is symmetric: who takes a peer into it is in that peer's, and both keep a connection open. The
passive view has peers that may take the place of a neighbour. The names of the messages are those of the
paper's Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar, Final

from mypy_extensions import mypyc_attr

from emulator.contract.draws import below
from emulator.contract.invariants import Invariant
from emulator.contract.protocol import Contact, Environment, Gauge, Membership
from emulator.contract.system import MembershipKind
from emulator.messages.message import Message
from emulator.protocols.gossip.hyparview.parameters import HyParViewParameters
from emulator.protocols.gossip.hyparview.passive_view import PassiveView
from trellis.v1.hyparview import (
    HyParViewDisconnect,
    HyParViewForwardJoin,
    HyParViewJoin,
    HyParViewKeepAlive,
    HyParViewNeighbor,
    HyParViewNeighborReply,
    HyParViewShuffle,
    HyParViewShuffleReply,
)
from trellis.v1.overlay import Goodbye


@mypyc_attr(allow_interpreted_subclasses=True)
class HyParView(Membership):
    """One peer of HyParView; its neighbours are those of the active view."""

    GAUGES: ClassVar[Mapping[str, Gauge]] = {
        "passive": Gauge("Peers of the passive view.", "peers"),
        "free_slots": Gauge("Peers that the active view lacks.", "peers", "lower"),
    }

    def __init__(self, environment: Environment, parameters: HyParViewParameters) -> None:
        super().__init__(environment)
        self._size = parameters.active
        self._arwl = parameters.arwl
        self._prwl = parameters.prwl
        self._shuffled_active = parameters.shuffled_active
        self._shuffled_passive = parameters.shuffled_passive
        self._period = parameters.period
        self._refills = parameters.refill
        self.keepalive = parameters.keepalive
        self.silence = parameters.silent_keepalives * parameters.keepalive
        self._timeout = parameters.timeout
        self.active: dict[int, float] = {}
        """The time (s) by the peer's own clock at which each neighbour was last heard from, by neighbour."""
        self._passive = PassiveView(parameters.passive, environment.random)
        self._asked: set[int] = set()
        """The peers that have not yet answered whether they become neighbours."""
        self._refused: set[int] = set()
        """The peers that are not asked again before the next shuffle."""
        self._failed = 0
        """The failed neighbours that no other one has taken the place of yet."""
        self._shuffled: list[int] = []
        """The peers that this peer told of in its last shuffle."""
        self._contacts: list[int] = []
        environment.handle(HyParViewJoin, self._on_join)
        environment.handle(HyParViewForwardJoin, self._on_forward_join)
        environment.handle(HyParViewDisconnect, self._on_disconnect)
        environment.serve(HyParViewNeighbor, self._on_neighbor)
        environment.handle(HyParViewShuffle, self._on_shuffle)
        environment.handle(HyParViewShuffleReply, self._on_shuffle_reply)
        environment.handle(HyParViewKeepAlive, self._on_keep_alive)
        environment.handle(Goodbye, self._on_goodbye)

    def start(self, contacts: Sequence[int]) -> None:
        self._join(contacts)
        self.environment.every(self._period, self._shuffle)
        if self.keepalive > 0:
            self.environment.every(self.keepalive, self._keep_alive)

    def stop(self, graceful: bool) -> None:
        if graceful:
            for peer in self.active:
                self.environment.send(peer, Goodbye())
        self.active.clear()

    def on_unreachable(self, peer: int) -> None:
        """Replace a failed neighbour by a peer of the passive view (section 4.3)."""
        self._passive.remove(peer)
        if peer in self._contacts:
            self._contacts.remove(peer)
        if self._unlink(peer):
            self._failed += 1
        self._promote()

    def gauges(self) -> dict[str, float]:
        return {"passive": float(len(self._passive)), "free_slots": float(self._size - len(self.active))}

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return {_ACTIVE: list(self.active)}

    def sample(self, count: int) -> Sequence[int]:
        """Return random neighbours, whose failure is noticed, before peers of the passive view."""
        drawn = self._draw_active(count)
        return drawn + self._passive.sample(count - len(drawn))

    def _join(self, contacts: Sequence[int]) -> None:
        """Send JOIN to one contact, which becomes a neighbour; the others stand by."""
        self._contacts = [contact for contact in contacts if contact != self.environment.peer]
        if self._contacts and not self.active:
            contact = self._contacts.pop(0)
            self._link(contact)
            self.environment.send(contact, HyParViewJoin())

    def _on_join(self, sender: int, message: HyParViewJoin) -> None:
        self._link(sender)
        walk = HyParViewForwardJoin(sender, self._arwl)
        for peer in self.active:
            if peer != sender:
                self.environment.send(peer, walk)

    def _on_forward_join(self, sender: int, message: HyParViewForwardJoin) -> None:
        newcomer, ttl = message.newcomer, min(message.ttl, self._arwl)
        if newcomer == self.environment.peer:
            return
        onward = [peer for peer in self.active if peer != sender and peer != newcomer]
        if ttl == 0 or len(self.active) <= 1 or not onward:
            if newcomer not in self.active:
                self._ask(newcomer, high_priority=True)
            return
        if ttl == self._prwl:
            self._know(newcomer)
        next_hop = onward[below(self.environment.random, len(onward))]
        self.environment.send(next_hop, HyParViewForwardJoin(newcomer, ttl - 1))

    def _on_disconnect(self, sender: int, message: HyParViewDisconnect) -> None:
        if self._unlink(sender):
            self._refused.add(sender)
            self._know(sender)
            self._promote()

    def _on_neighbor(self, sender: int, message: HyParViewNeighbor) -> HyParViewNeighborReply:
        """Accept who has no other neighbour, or if a slot is free (section 4.3)."""
        accepts = message.high_priority or sender in self.active or len(self.active) < self._size
        if accepts:
            self._link(sender)
        return HyParViewNeighborReply(accepts)

    def _promote(self) -> None:
        """Ask a peer of the passive view for each free slot, and another one after each that refuses.

        A peer without neighbours asks one at a time, since whoever it asks has to accept.
        """
        free = self._size - len(self.active) if self.active else 1
        if not self._refills and self.active:
            free = min(free, self._failed)
        while free > len(self._asked):
            peer = self._passive.draw(self._asked | self._refused)
            if peer is None:
                return
            self._ask(peer, high_priority=not self.active)

    def _ask(self, peer: int, *, high_priority: bool) -> None:
        self._asked.add(peer)
        self.environment.request(
            peer,
            HyParViewNeighbor(high_priority),
            self._timeout,
            partial(self._on_reply, peer, high_priority),
            partial(self._on_silence, peer),
        )

    def _on_reply(self, peer: int, high_priority: bool, reply: Message) -> None:
        self._asked.discard(peer)
        if not isinstance(reply, HyParViewNeighborReply):
            self.environment.drop(type(reply), "it answers something else")
        elif not reply.accepted:
            self._refused.add(peer)
        elif high_priority or len(self.active) < self._size:
            self._link(peer)
        elif peer not in self.active:
            self.environment.send(peer, HyParViewDisconnect())
        self._promote()

    def _on_silence(self, peer: int) -> None:
        """Remove a peer that cannot be connected to, and try another one."""
        self._asked.discard(peer)
        self._passive.remove(peer)
        self._promote()

    def _shuffle(self) -> None:
        """Send SHUFFLE on a random walk (section 4.4); fill slots that are still free."""
        self._refused.clear()
        if not self.active and not self._asked and not len(self._passive):
            if self._contacts:
                self._join(self._contacts)
            else:
                self.environment.find_contacts(self._join)
        self._promote()
        if self.active:
            told = self._draw_active(self._shuffled_active)
            told += self._passive.sample(self._shuffled_passive)
            self._shuffled = told
            peers = [self.environment.peer, *told]
            (first,) = self._draw_active(1)
            self.environment.send(first, HyParViewShuffle(self.environment.peer, self._arwl, peers))

    def _on_shuffle(self, sender: int, message: HyParViewShuffle) -> None:
        ttl = min(message.ttl, self._arwl) - 1
        onward = [peer for peer in self.active if peer != sender and peer != message.origin]
        if ttl > 0 and onward:
            next_hop = onward[below(self.environment.random, len(onward))]
            self.environment.send(next_hop, HyParViewShuffle(message.origin, ttl, message.peers))
        elif message.origin != self.environment.peer:
            reply = self._passive.sample(len(message.peers))
            self.environment.send(message.origin, HyParViewShuffleReply(reply))
            self._integrate(message.peers, reply)

    def _on_shuffle_reply(self, sender: int, message: HyParViewShuffleReply) -> None:
        self._integrate(message.peers, self._shuffled)

    def _integrate(self, peers: Sequence[int], sent: Sequence[int]) -> None:
        own = self.environment.peer
        self._passive.integrate([peer for peer in peers if peer != own and peer not in self.active], sent)

    def _keep_alive(self) -> None:
        """Send over each connection, and give up those over which nothing comes."""
        oldest = self.environment.now - self.silence
        for peer in [peer for peer, heard in self.active.items() if heard < oldest]:
            self.environment.report_gone(peer)
        for peer in self.active:
            self.environment.send(peer, _KEEP_ALIVE)

    def _on_keep_alive(self, sender: int, message: HyParViewKeepAlive) -> None:
        if sender in self.active:
            self.active[sender] = self.environment.now
        elif sender not in self._asked:
            self.environment.send(sender, HyParViewDisconnect())

    def _on_goodbye(self, sender: int, message: Goodbye) -> None:
        self.environment.report_gone(sender)

    def _draw_active(self, count: int) -> list[int]:
        active = list(self.active)
        return self.environment.random.sample(active, min(count, len(active)))

    def _know(self, peer: int) -> None:
        """Add a peer to the passive view (addNodePassiveView)."""
        if peer != self.environment.peer and peer not in self.active:
            self._passive.add(peer)

    def _link(self, peer: int) -> None:
        """Take a peer into the active view, for a random one if it is full (addNodeActiveView)."""
        now = self.environment.now
        if peer in self.active or peer == self.environment.peer:
            return
        while len(self.active) >= self._size:
            (dropped,) = self._draw_active(1)
            self._unlink(dropped)
            self.environment.send(dropped, HyParViewDisconnect())
            self._know(dropped)
        self._passive.remove(peer)
        self.active[peer] = now
        self._failed = max(0, self._failed - 1)
        self.tell_change(Contact(peer), True)

    def _unlink(self, peer: int) -> bool:
        """Remove a peer from the active view. Returns whether it was there."""
        if self.active.pop(peer, None) is None:
            return False
        self.tell_change(Contact(peer), False)
        return True


_ACTIVE: Final = "active"
_KEEP_ALIVE: Final = HyParViewKeepAlive()

_SYMMETRIC: Final = Invariant(
    "active_views_are_symmetric",
    "Who is in a peer's active view has that peer in its own, or was heard from within the time after which "
    "silent connections are given up (Leitao, Pereira, Rodrigues, DSN 2007, section 4.1).",
    "emulator.protocols.gossip.hyparview.view_invariant:one_sided",
)
_FORGETS: Final = Invariant(
    "active_views_forget_the_dead",
    "No active view holds a peer that has been down for longer than it takes to give up a silent connection, "
    "and one more keep-alive (section 4.3).",
    "emulator.protocols.gossip.hyparview.view_invariant:kept_dead",
)
HYPARVIEW: Final = MembershipKind(
    name="hyparview",
    title="HyParView",
    paper="Leitao, Pereira, Rodrigues: HyParView, DSN 2007",
    parameters=HyParViewParameters,
    create=HyParView,
    invariants=(_SYMMETRIC, _FORGETS),
)
