"""Upkeep of the routing table: nearer entries, dead entries, empty slots."""

from __future__ import annotations

from collections.abc import Iterable

from google.protobuf.message import Message
from trellis.v1.pastry_pb2 import RowAnnouncement, RowReply, RowRequest, SlotReply, SlotRequest

from emulator import identifiers
from emulator.overlays.pastry.liveness import Liveness
from emulator.overlays.pastry.parameters import PastryParameters
from emulator.overlays.pastry.round_trip import Pings
from emulator.overlays.pastry.routing_state import RoutingState
from emulator.protocol import Environment, Handler


class TableMaintenance:
    """Candidates come by rows of other peers; each is pinged before it gets a slot."""

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

    def handlers(self) -> dict[type[Message], Handler]:
        return {
            RowRequest: self._on_row_request,
            RowAnnouncement: self._on_announcement,
            SlotRequest: self._on_slot_request,
            SlotReply: self._on_slot_reply,
        }

    def start(self) -> None:
        """Begin the periodic work."""
        self._environment.every(self._parameters.table_maintenance, self._compare_rows)
        self._environment.every(self._parameters.table_probe, self._probe_silent)

    def consider(self, peers: Iterable[int]) -> None:
        """Others told of these peers: ping those that may be worth a slot."""
        state = self._state
        table, mean = state.table, state.round_trips.mean
        for peer in state.unknown(peers):
            if peer in table:
                continue
            holder = table.lookup(identifiers.of_peer(peer))
            known = mean(peer)
            if holder is None or known == _NEVER or known < mean(holder):
                self._pings.send(peer)

    def announce(self) -> None:
        """A peer that has joined sends each row to those in it (DSN 2004)."""
        state = self._state
        for row in range(state.table.rows):
            peers = state.table.row(row)
            for peer in peers:
                mean = state.round_trips.mean(peer)
                self._environment.send(
                    peer,
                    RowAnnouncement(
                        row=row, peers=peers, round_trip_us=0 if mean == _NEVER else max(1, round(mean * 1e6))
                    ),
                )

    def suspect(self, peer: int) -> None:
        """A peer that is no leaf was silent when it should not have been."""
        self._liveness.suspect(peer, self._pings.send)

    def repair(self, identifier: int) -> None:
        """The slot of the identifier lost its peer: another peer of the row, or of the next, may know one.

        Pastry, section 2.4, node departure.
        """
        table = self._state.table
        row = table.place(identifier)[0]
        peers = table.row(row) or table.row(row + 1)
        if peers:
            self._ask_for_slot(self._environment.random.choice(peers), identifier)

    def missing(self, key: int, next_hop: int) -> None:
        """The slot for a key was empty when a message was routed: the next hop may know a peer for it.

        Passive repair (DSN 2004); each slot once in a while.
        """
        self._ask_for_slot(next_hop, key)

    def _ask_for_slot(self, peer: int, identifier: int) -> None:
        now = self._environment.now
        place = self._state.table.place(identifier)
        if now - self._asked.get(place, -_NEVER) >= self._parameters.table_probe:
            self._asked[place] = now
            self._environment.send(peer, SlotRequest(prefix=identifiers.encode(identifier), row=place[0]))

    def _compare_rows(self) -> None:
        """Constrained gossip: of each row, one peer is asked for its own (DSN 2004)."""
        for row in range(self._state.table.rows):
            peers = self._state.table.row(row)
            if peers:
                self._environment.send(self._environment.random.choice(peers), RowRequest(row=row))

    def _probe_silent(self) -> None:
        """Entries and near peers that were silent for a period; leaves have heartbeats."""
        state = self._state
        long_ago = self._environment.now - self._parameters.table_probe
        for peer in state.members():
            if state.heard(peer) < long_ago and peer not in state.leaf_set:
                self._liveness.probe(peer, self._pings.send)

    def _on_row_request(self, sender: int, message: RowRequest) -> None:
        state = self._state
        state.hear(sender)
        peers = state.leaf_set if message.leaf_set else state.table.row(message.row)
        reply = RowReply(leaf_set=message.leaf_set, row=message.row, rows=state.table.rows, peers=peers)
        self._environment.send(sender, reply)

    def on_row(self, sender: int, message: RowReply) -> None:
        """Another peer's row."""
        self._state.hear(sender)
        self.consider(message.peers)

    def _on_announcement(self, sender: int, message: RowAnnouncement) -> None:
        state = self._state
        state.hear(sender)
        if message.round_trip_us:
            state.round_trips.sample(sender, message.round_trip_us / 1e6)
        state.offer_slot(sender)
        state.offer_neighbour(sender)
        self.consider(message.peers)

    def _on_slot_request(self, sender: int, message: SlotRequest) -> None:
        state = self._state
        state.hear(sender)
        identifier = identifiers.decode(message.prefix)
        bits = self._parameters.digit_bits * (message.row + 1)
        fitting = [
            peer
            for peer in (state.peer, *state.members())
            if peer != sender and (identifiers.of_peer(peer) ^ identifier) >> (identifiers.BITS - bits) == 0
        ]
        if fitting:
            self._environment.send(sender, SlotReply(peers=fitting[: 1 << self._parameters.digit_bits]))

    def _on_slot_reply(self, sender: int, message: SlotReply) -> None:
        self._state.hear(sender)
        self.consider(message.peers)


_NEVER = float("inf")
