"""Maintenance of the routing table: nearer entries, dead entries, empty slots."""

from __future__ import annotations

import math
from collections.abc import Iterable

from emulator.contract.identifiers import BITS
from emulator.contract.protocol import Contact, Environment, Message
from emulator.protocols.overlays.pastry.liveness import Liveness
from emulator.protocols.overlays.pastry.parameters import PastryParameters
from emulator.protocols.overlays.pastry.round_trip import Pings
from emulator.protocols.overlays.pastry.routing_state import RoutingState
from trellis.v1.pastry import RowAnnouncement, RowReply, RowRequest, SlotReply, SlotRequest


class TableMaintenance:
    """Keeps the table filled.

    Candidates come from rows of other peers; each is pinged before it gets a slot.
    """

    def __init__(
        self,
        environment: Environment,
        parameters: PastryParameters,
        state: RoutingState,
        pings: Pings,
        liveness: Liveness,
    ) -> None:
        self._environment = environment
        self._parameters = parameters
        self._state = state
        self._pings = pings
        self._liveness = liveness
        self._asked: dict[tuple[int, int], float] = {}
        environment.serve(RowRequest, self._show_row)
        environment.handle(RowAnnouncement, self._on_announcement)
        environment.serve(SlotRequest, self._find_fitting)

    def start(self) -> None:
        """Begin the periodic work."""
        self._environment.every(self._parameters.table_maintenance, self._compare_rows)
        self._environment.every(self._parameters.table_probe, self._probe_silent)

    def measure(self, contacts: Iterable[Contact]) -> None:
        """Ping those of these peers, told by others, that may be worth a slot."""
        state = self._state
        mean = state.round_trips.mean
        for contact in state.believable(contacts):
            if contact.peer in state.table:
                continue
            holder = state.table.lookup(contact.identifier)
            known = mean(contact.peer)
            if holder is None or known == math.inf or known < mean(holder.peer):
                self._pings.send(contact.peer)

    def announce(self) -> None:
        """Send each row to the peers in it, because this peer has joined (DSN 2004)."""
        state = self._state
        for row in range(state.table.rows):
            peers = state.table.row(row)
            for entry in peers:
                mean = state.round_trips.mean(entry.peer)
                message = RowAnnouncement(
                    identifier=state.identifier,
                    peers=peers,
                    round_trip_us=0 if mean == math.inf else max(1, round(mean * 1e6)),
                )
                self._environment.send(entry.peer, message)

    def repair(self, identifier: int) -> None:
        """Refill the slot of an identifier that lost its peer: peers of the row or of the next may know
        another.

        The rule is that of Pastry, section 2.4, node departure.
        """
        table = self._state.table
        row = table.place(identifier)[0]
        peers = table.row(row) or table.row(row + 1)
        if peers:
            self._ask_for_slot(self._environment.random.choice(peers).peer, identifier)

    def fill(self, key: int, next_hop: int) -> None:
        """Ask the next hop for a peer for a key's slot, which was empty when a message was routed.

        This is passive repair (DSN 2004). Each slot is asked for once in a while.
        """
        self._ask_for_slot(next_hop, key)

    def _ask_for_slot(self, peer: int, identifier: int) -> None:
        now = self._environment.now
        place = self._state.table.place(identifier)
        if now - self._asked.get(place, -math.inf) >= self._parameters.table_probe:
            self._asked[place] = now
            self._request(peer, SlotRequest(prefix=identifier, row=place[0]))

    def _compare_rows(self) -> None:
        """Ask one peer of each row for its own row, as constrained gossip (DSN 2004)."""
        for row in range(self._state.table.rows):
            peers = self._state.table.row(row)
            if peers:
                self._request(self._environment.random.choice(peers).peer, RowRequest(row=row))

    def _request(self, peer: int, message: Message) -> None:
        """Ask once. If no reply comes, the slot or the row is asked for another time."""
        self._environment.request(
            peer,
            message,
            self._parameters.probe_timeout,
            lambda reply: self._on_candidates(peer, reply),
            _let_be,
        )

    def _on_candidates(self, sender: int, reply: Message) -> None:
        if not isinstance(reply, (RowReply, SlotReply)):
            self._environment.drop(type(reply), "it answers something else")
            return
        self._state.hear(sender)
        self.measure(reply.peers)

    def _probe_silent(self) -> None:
        """Probe the entries that were silent for a period; leaves have heartbeats instead."""
        state = self._state
        long_ago = self._environment.now - self._parameters.table_probe
        for entry in state.table:
            if state.heard(entry.peer) < long_ago and entry.peer not in state.leaf_set:
                self._liveness.probe(entry)

    def _show_row(self, sender: int, message: RowRequest) -> RowReply:
        state = self._state
        state.hear(sender)
        if message.leaf_set:
            return RowReply(rows=state.table.rows, peers=list(state.leaf_set))
        return RowReply(rows=state.table.rows, peers=state.table.row(message.row))

    def _on_announcement(self, sender: int, message: RowAnnouncement) -> None:
        state = self._state
        contact = state.meet(sender, message.identifier)
        if message.round_trip_us:
            state.round_trips.sample(sender, message.round_trip_us / 1e6)
        state.offer_slot(contact)
        self.measure(message.peers)

    def _find_fitting(self, sender: int, message: SlotRequest) -> SlotReply | None:
        """Return the peers that share the prefix, as many as a row has slots; None if there are none."""
        state = self._state
        state.hear(sender)
        beyond = BITS - self._parameters.digit_bits * (message.row + 1)
        known = [state.me, *state.members.values()]
        fitting = [
            contact
            for contact in known
            if contact.peer != sender and (contact.identifier ^ message.prefix) >> beyond == 0
        ]
        return SlotReply(peers=fitting[: 1 << self._parameters.digit_bits]) if fitting else None


def _let_be() -> None:
    """Do nothing about a request that was not answered."""
