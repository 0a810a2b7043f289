"""Pastry (Rowstron and Druschel, Middleware 2001), with MSPastry's care for churn (Castro, Costa and
Rowstron: Performance and dependability of structured peer-to-peer overlays, DSN 2004).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mypy_extensions import mypyc_attr

from emulator.contract.identifiers import RING
from emulator.contract.invariants import Invariant
from emulator.contract.protocol import Contact, Environment, Message, Overlay
from emulator.contract.system import OverlayKind
from emulator.protocols.overlays.pastry.forwarding import Forwarding
from emulator.protocols.overlays.pastry.join import Join
from emulator.protocols.overlays.pastry.leaf_set import LeafSet
from emulator.protocols.overlays.pastry.leaf_set_maintenance import LeafSetMaintenance
from emulator.protocols.overlays.pastry.liveness import Liveness
from emulator.protocols.overlays.pastry.parameters import PastryParameters
from emulator.protocols.overlays.pastry.round_trip import Pings
from emulator.protocols.overlays.pastry.routing_state import RoutingState
from emulator.protocols.overlays.pastry.table_maintenance import TableMaintenance
from trellis.v1.overlay import Goodbye
from trellis.v1.pastry import JoinRequest, Ping, Pong


@mypyc_attr(allow_interpreted_subclasses=True)
class Pastry(Overlay):
    """One peer of the overlay."""

    def __init__(self, environment: Environment, parameters: PastryParameters) -> None:
        super().__init__(environment, RING, environment.identifier)
        self.digit_bits = parameters.digit_bits
        self._patience = parameters.probe_timeout
        self._state = state = RoutingState(
            environment,
            parameters,
            self.identifier,
            leaf_changed=self.tell_change,
            routes_changed=self._routes_changed,
        )
        self._pings = Pings(environment, parameters, self._ping_answered)
        self._leaves = LeafSetMaintenance(
            environment, parameters, state, died=self._died, complete=self._leaf_set_complete
        )
        self._table_liveness = Liveness(
            environment,
            parameters,
            state,
            question=Ping,
            replied=self._ping_answered,
            died=self._died,
            settled=_nothing_more,
        )
        self._tables = TableMaintenance(environment, parameters, state, self._pings, self._table_liveness)
        self._forwarding = Forwarding(
            environment,
            parameters,
            state,
            forward=self._forward,
            deliver=self._deliver,
            suspect=self._suspect,
        )
        self._join = Join(
            environment,
            parameters,
            state,
            self._pings,
            self._leaves,
            self._tables,
            self._forwarding,
            self._joined,
        )
        environment.serve(Ping, self._answer_ping)
        environment.handle(Goodbye, self._on_goodbye)

    @property
    def ready(self) -> bool:
        return self._state.ready

    def start(self, contacts: Sequence[int]) -> None:
        self.move_to(self.identifier)
        self._leaves.start()
        self._tables.start()
        self._join.start(contacts)

    def stop(self, graceful: bool) -> None:
        if graceful:
            goodbye = Goodbye()
            for peer in self._state.members:
                self.environment.send(peer, goodbye)

    def on_unreachable(self, peer: int) -> None:
        """Note a refused connection.

        The peer may have come back since, so one that spoke lately is probed.
        """
        if self.environment.now - self._state.heard(peer) < self._patience:
            self._suspect(peer)
        else:
            self._lost(peer)

    def gauges(self) -> dict[str, float]:
        return {
            "routing_table_entries": float(len(self._state.table)),
            "leaf_set_size": float(len(self._state.leaf_set)),
        }

    def neighbours(self) -> dict[str, Sequence[int]]:
        return {
            "leaf": [leaf.peer for leaf in self._state.leaf_set],
            "routing table": [entry.peer for entry in self._state.table],
        }

    def route(self, key: int, message: Message) -> None:
        self._forwarding.route(key, message)

    def next_hop(self, key: int) -> Contact | None:
        return self._state.next_hop(key)

    def neighbour_set(self, count: int) -> list[Contact]:
        return self._state.leaf_set.nearest()[:count]

    def sample(self, count: int) -> list[int]:
        members = list(self._state.members)
        return self.environment.random.sample(members, min(count, len(members)))

    def _routes_changed(self) -> None:
        self.routes_version += 1

    def _joined(self) -> None:
        self._state.ready = True
        self._forwarding.release()
        self._tables.announce()

    @property
    def leaves(self) -> LeafSet:
        """The peer's leaf set."""
        return self._state.leaf_set

    def _leaf_set_complete(self) -> None:
        self._join.complete()

    def _answer_ping(self, sender: int, ping: Ping) -> Pong:
        self._state.hear(sender)
        self._join.pinged(sender, ping)
        return Pong(identifier=self.identifier, ready=self._state.ready)

    def _ping_answered(self, peer: int, pong: Message, round_trip: float) -> None:
        if not isinstance(pong, Pong):
            self.environment.drop(type(pong), "it answers something else")
            return
        state = self._state
        contact = state.meet(peer, pong.identifier)
        state.round_trips.sample(peer, round_trip)
        self._join.answered(peer, pong.ready, round_trip)
        if pong.ready:
            state.offer_slot(contact)

    def _forward(self, key: int, message: Message, next_hop: int, origin: Contact, hops: int) -> bool:
        if isinstance(message, JoinRequest):
            self._join.contribute(origin, hops, last=False)
            return True
        state = self._state
        if not state.leaf_set.covers(key) and state.table.lookup(key) is None:
            self._tables.fill(key, next_hop)
        return self.application_of(message).forward(key, message, next_hop, hops)

    def _deliver(self, key: int, message: Message, origin: Contact, hops: int) -> None:
        if not isinstance(message, JoinRequest):
            self.application_of(message).deliver(key, message, origin, hops)
        elif origin.peer != self.environment.peer:
            self._join.contribute(origin, hops, last=True)

    def _suspect(self, peer: int) -> None:
        member = self._state.members.get(peer)
        if member is not None:
            liveness = self._leaves.liveness if peer in self._state.leaf_set else self._table_liveness
            liveness.suspect(member)

    def _on_goodbye(self, sender: int, _: Goodbye) -> None:
        self._lost(sender)  # however lately it spoke
        self.environment.report_gone(sender)

    def _lost(self, peer: int) -> None:
        self._table_liveness.end(peer)
        self._leaves.liveness.lost(peer)

    def _died(self, peer: int, told: Contact | None) -> None:
        state = self._state
        next_on_ring = [side[0][1] for side in state.leaf_set.sides if side]
        entry = state.members[peer] if peer in state.table else None
        state.remove(peer, told)
        self._forwarding.lost(peer)
        if peer in next_on_ring:
            self._leaves.tell_leaves()
        if entry is not None:
            self._tables.repair(entry.identifier)
        if state.ready and not state.members:
            state.ready = False
            self._join.again()


def _nothing_more() -> None:
    """Do nothing when all entries of the table have answered their probes."""


_RING: Final = Invariant(
    "leaf_sets_form_one_ring",
    "The nearest live leaves clockwise of joined peers form one ring, ordered by identifiers (Rowstron and "
    "Druschel, Middleware 2001, section 2.1).",
    "emulator.protocols.overlays.pastry.leaf_set_invariant:broken",
)
PASTRY: Final = OverlayKind(
    "pastry",
    "Pastry, with MSPastry's care for churn",
    "Rowstron, Druschel: Pastry, Middleware 2001; Castro, Costa, Rowstron: MSPastry, DSN 2004",
    PastryParameters,
    Pastry,
    short_title="Pastry",
    invariants=(_RING,),
)
