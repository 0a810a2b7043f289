"""Joining: a near contact, the state of the peers on the way, a leaf set that answered.

The near contact is found as in Castro, Druschel, Hu, Rowstron: Exploiting network proximity in
peer-to-peer overlay networks (2002).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto

from google.protobuf.message import Message
from trellis.v1.pastry_pb2 import JoinRequest, JoinState, Ping, RowReply, RowRequest

from emulator import identifiers
from emulator.overlays.pastry.forwarding import Forwarding
from emulator.overlays.pastry.leaf_set_maintenance import LeafSetMaintenance
from emulator.overlays.pastry.parameters import PastryParameters
from emulator.overlays.pastry.round_trip import Pings
from emulator.overlays.pastry.routing_state import RoutingState
from emulator.overlays.pastry.table_maintenance import TableMaintenance
from emulator.protocol import Contact, Environment, Handler, Timer

_LONELY_ATTEMPTS = 3


class _Step(Enum):
    CONTACTS = auto()
    """Waits for the first contact that answers."""
    SEARCH = auto()
    """Asks nearer and nearer peers for those that they know."""
    TRANSFER = auto()
    """The join request is on its way."""
    PROBING = auto()
    """The leaves are being probed."""
    JOINED = auto()


class Join:
    """One peer's way into the overlay, and what it does for others that join."""

    def __init__(
        self,
        environment: Environment,
        parameters: PastryParameters,
        state: RoutingState,
        pings: Pings,
        leaves: LeafSetMaintenance,
        tables: TableMaintenance,
        forwarding: Forwarding,
        joined: Callable[[], None],
    ) -> None:
        self._environment = environment
        self._parameters = parameters
        self._state = state
        self._pings = pings
        self._leaves = leaves
        self._tables = tables
        self._forwarding = forwarding
        self._joined = joined
        self._step = _Step.CONTACTS
        self._attempts = 0
        self._timer: Timer | None = None
        self._near = -1
        self._round_trip = 0.0
        self._nearer: tuple[float, int] | None = None
        self._row = 0
        self._steps_left = 0

    def handlers(self) -> dict[type[Message], Handler]:
        return {RowReply: self._on_row, JoinState: self._on_state}

    def start(self, contacts: Sequence[Contact]) -> None:
        """Join through the nearest of the contacts; without any, be the first peer."""
        self._step = _Step.CONTACTS
        self._attempts += 1
        if not contacts:
            self._finish()
            return
        self._wait(self.again)
        for contact in contacts:
            self._pings.send(contact.peer, self._attempts)

    def stop(self) -> None:
        """Give up."""
        self._cancel()

    def answered(self, peer: int, ready: bool, round_trip: float) -> None:
        """A ping was answered. The first contact to answer is the nearest of them."""
        if not ready:
            return
        if self._step is _Step.CONTACTS:
            self._step = _Step.SEARCH
            self._steps_left = self._parameters.search_steps
            self._go_to(peer, round_trip, leaf_set=True)
        elif self._step is _Step.SEARCH and round_trip < self._round_trip:
            self._nearer = min(self._nearer or (round_trip, peer), (round_trip, peer))

    def pinged(self, sender: int, message: Ping) -> None:
        """Two peers that only find each other, and both in vain for long, begin an overlay of their own."""
        lonely = self._step is _Step.CONTACTS and self._attempts > _LONELY_ATTEMPTS
        if lonely and message.attempts > _LONELY_ATTEMPTS and self._state.peer < sender:
            self._finish()

    def complete(self) -> None:
        """All leaves answered, and nobody is left to ask."""
        if self._step is _Step.PROBING:
            if len(self._state.leaf_set):
                self._finish()
            else:
                self.again()

    def contribute(self, joining: int, hops: int, last: bool) -> None:
        """This peer is on the way of a join request, and perhaps its last stop (Pastry, section 2.4)."""
        state = self._state
        shared = state.table.shared(identifiers.of_peer(joining))
        message = JoinState(last=last)
        for row in range(hops - 1, min(shared + 1, state.table.rows)):
            peers = [peer for peer in state.table.row(row) if peer != joining]
            if peers:
                message.rows.add(row=row, peers=peers)
        if hops == 1:
            message.neighbourhood.extend(peer for peer in state.neighbourhood if peer != joining)
        if last:
            message.leaves.extend(peer for peer in state.leaf_set if peer != joining)
        self._environment.send(joining, message)

    def _go_to(self, near: int, round_trip: float, leaf_set: bool = False, row: int = 0) -> None:
        self._near, self._round_trip, self._row, self._nearer = near, round_trip, row, None
        if not self._steps_left:
            self._request()
            return
        self._steps_left -= 1
        self._wait(self.again)
        self._environment.send(near, RowRequest(leaf_set=leaf_set, row=row))

    def _on_row(self, sender: int, message: RowReply) -> None:
        self._state.hear(sender)
        if self._step is not _Step.SEARCH:
            self._tables.on_row(sender, message)
            return
        if sender != self._near:
            return
        for peer in message.peers:
            if peer != self._state.peer:
                self._pings.send(peer)
        self._row = message.rows if message.leaf_set else message.row
        # Whoever has not answered by then is not nearer.
        self._wait(self._compare, self._round_trip)

    def _compare(self) -> None:
        if self._nearer is not None:
            round_trip, near = self._nearer
            self._go_to(near, round_trip, row=max(self._row - 1, 0))
        elif self._row > 0:
            self._go_to(self._near, self._round_trip, row=self._row - 1)
        else:
            self._request()

    def _request(self) -> None:
        self._step = _Step.TRANSFER
        self._wait(self.again)
        self._forwarding.route_through(self._near, self._state.identifier, JoinRequest())

    def _on_state(self, sender: int, message: JoinState) -> None:
        state = self._state
        state.hear(sender)
        self._tables.consider((sender, *message.neighbourhood, *(p for r in message.rows for p in r.peers)))
        if message.last and self._step is _Step.TRANSFER:
            self._step = _Step.PROBING
            self._cancel()
            self._leaves.consider((sender, *message.leaves))
            self._leaves.settle()

    def _finish(self) -> None:
        self._cancel()
        self._step = _Step.JOINED
        self._attempts = 0
        self._joined()

    def again(self) -> None:
        """Start over with other contacts."""
        self._step = _Step.CONTACTS
        self._wait(self.again)
        self._environment.find_contacts(self._found)

    def _found(self, contacts: Sequence[Contact]) -> None:
        if self._step is _Step.CONTACTS:
            self.start(contacts)

    def _wait(self, call: Callable[[], None], seconds: float | None = None) -> None:
        self._cancel()
        delay = self._parameters.join_timeout if seconds is None else seconds
        self._timer = self._environment.set_timer(delay, call)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
