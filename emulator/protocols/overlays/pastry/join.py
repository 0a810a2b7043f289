"""Joining: a peer finds a near contact, gets the state of peers on the way, and probes its leaf set.

The near contact is found as in Castro, Druschel, Hu, Rowstron: Exploiting network proximity in peer-to-peer
overlay networks (2002).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final

from emulator.contract.protocol import Contact, Environment, Message, Timer
from emulator.protocols.overlays.pastry.forwarding import Forwarding
from emulator.protocols.overlays.pastry.leaf_set_maintenance import LeafSetMaintenance
from emulator.protocols.overlays.pastry.parameters import PastryParameters
from emulator.protocols.overlays.pastry.round_trip import Pings
from emulator.protocols.overlays.pastry.routing_state import RoutingState
from emulator.protocols.overlays.pastry.table_maintenance import TableMaintenance
from trellis.v1.pastry import JoinRequest, JoinState, Ping, RowReply, RowRequest

_LONELY_ATTEMPTS: Final = 3


class _Step(Enum):
    CONTACTS = 0
    """The peer waits for the first contact that answers."""
    SEARCH = 1
    """The peer asks nearer and nearer peers for those that they know."""
    TRANSFER = 2
    """The join request is on its way."""
    PROBING = 3
    """The peer probes the leaves."""
    JOINED = 4


class Join:
    """The join of one peer, and what it does for others that join."""

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
        """`joined` is called when this peer may be the root of keys."""
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
        self._asking = False
        """Whether the bootstrap service was asked for contacts and has not answered yet."""
        self._timer: Timer | None = None
        self._near = -1
        self._round_trip = 0.0
        self._nearer: tuple[float, int] | None = None
        self._row = 0
        self._steps_left = 0
        environment.handle(JoinState, self._on_state)

    def start(self, contacts: Sequence[int]) -> None:
        """Join through the nearest of the contacts; without contacts, be the first peer."""
        self._step = _Step.CONTACTS
        self._attempts += 1
        if not contacts:
            self._finish()
            return
        self._wait(self.again)
        for peer in contacts:
            self._pings.send(peer, self._attempts)

    def answered(self, peer: int, ready: bool, round_trip: float) -> None:
        """Take in the answer to a ping. The first contact to answer is the nearest."""
        if not ready:
            return
        if self._step is _Step.CONTACTS:
            self._step = _Step.SEARCH
            self._steps_left = self._parameters.search_steps
            self._go_to(peer, round_trip, RowRequest(leaf_set=True))
        elif self._step is _Step.SEARCH and round_trip < self._round_trip:
            self._nearer = min(self._nearer or (round_trip, peer), (round_trip, peer))

    def pinged(self, sender: int, ping: Ping) -> None:
        """Begin an overlay if this peer and the sender have long tried in vain and only find each other."""
        lonely = self._step is _Step.CONTACTS and self._attempts > _LONELY_ATTEMPTS
        if lonely and ping.attempts > _LONELY_ATTEMPTS and self._state.peer < sender:
            self._finish()

    def complete(self) -> None:
        """Finish the join or start over: all leaves have answered, and no question is under way."""
        if self._step is _Step.PROBING:
            if len(self._state.leaf_set):
                self._finish()
            else:
                self.again()

    def contribute(self, joining: Contact, hops: int, last: bool) -> None:
        """Send a joining peer this peer's part of the state, as a stop of its request (Pastry, section 2.4).

        `last` says whether this is the last stop.
        """
        state = self._state
        shared = state.table.shared(joining.identifier)
        entries: list[Contact] = []
        for row in range(hops - 1, min(shared + 1, state.table.rows)):
            entries += [entry for entry in state.table.row(row) if entry.peer != joining.peer]
        leaves = [leaf for leaf in state.leaf_set if leaf.peer != joining.peer] if last else []
        message = JoinState(identifier=state.identifier, entries=entries, leaves=leaves, last=last)
        self._environment.send(joining.peer, message)

    def again(self) -> None:
        """Start over with other contacts."""
        self._step = _Step.CONTACTS
        self._asking = True
        self._wait(self.again)
        self._environment.find_contacts(self._found)

    def _go_to(self, near: int, round_trip: float, request: RowRequest) -> None:
        """Take `near` as the nearest peer so far, and ask it for those that it knows while steps are left."""
        self._near, self._round_trip, self._nearer = near, round_trip, None
        if not self._steps_left:
            self._request()
            return
        self._steps_left -= 1
        self._cancel()
        self._timer = self._environment.request(
            near,
            request,
            self._parameters.join_timeout,
            lambda reply: self._on_row(request, reply),
            self.again,
        )

    def _on_row(self, request: RowRequest, reply: Message) -> None:
        if not isinstance(reply, RowReply):
            self._environment.drop(type(reply), "it answers something else")
            self.again()
            return
        for contact in reply.peers:
            if contact.peer != self._state.peer:
                self._pings.send(contact.peer)
        self._row = reply.rows if request.leaf_set else request.row
        # A peer that has not answered by then is not nearer.
        self._wait(self._compare, self._round_trip)

    def _compare(self) -> None:
        if self._nearer is not None:
            round_trip, near = self._nearer
            self._go_to(near, round_trip, RowRequest(row=max(self._row - 1, 0)))
        elif self._row > 0:
            self._go_to(self._near, self._round_trip, RowRequest(row=self._row - 1))
        else:
            self._request()

    def _request(self) -> None:
        self._step = _Step.TRANSFER
        self._wait(self.again)
        self._forwarding.route_through(self._near, self._state.identifier, JoinRequest())

    def _on_state(self, sender: int, message: JoinState) -> None:
        contact = self._state.meet(sender, message.identifier)
        self._tables.measure([contact, *message.entries])
        if message.last and self._step is _Step.TRANSFER:
            self._step = _Step.PROBING
            self._cancel()
            self._leaves.consider([contact, *message.leaves])
            self._leaves.settle()

    def _finish(self) -> None:
        self._cancel()
        self._step = _Step.JOINED
        self._attempts = 0
        self._joined()

    def _found(self, contacts: Sequence[int]) -> None:
        """Start with these contacts, unless an earlier answer has done so already."""
        asking, self._asking = self._asking, False
        if asking and self._step is _Step.CONTACTS:
            self.start(contacts)

    def _wait(self, call: Callable[[], None], seconds: float | None = None) -> None:
        self._cancel()
        delay = self._parameters.join_timeout if seconds is None else seconds
        self._timer = self._environment.set_timer(delay, call)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
