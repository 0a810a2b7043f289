"""Pastry (Rowstron and Druschel, Middleware 2001), with MSPastry's care for churn (Castro, Costa and
Rowstron: Performance and dependability of structured peer-to-peer overlays, DSN 2004).
"""

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf.message import Message
from trellis.v1.overlay_pb2 import Goodbye, Routed
from trellis.v1.pastry_pb2 import JoinRequest, Ping, Pong

from emulator import identifiers
from emulator.overlays.pastry.forwarding import Forwarding
from emulator.overlays.pastry.join import Join
from emulator.overlays.pastry.leaf_set_maintenance import LeafSetMaintenance
from emulator.overlays.pastry.liveness import Liveness
from emulator.overlays.pastry.parameters import PastryParameters
from emulator.overlays.pastry.round_trip import Pings
from emulator.overlays.pastry.routing_state import RoutingState
from emulator.overlays.pastry.table_maintenance import TableMaintenance
from emulator.protocol import Contact, Environment, Handler, Overlay


class Pastry(Overlay):
    """One peer of the overlay."""

    def __init__(self, environment: Environment, parameters: PastryParameters) -> None:
        self._environment = environment
        self._patience = parameters.probe_timeout
        self._state = state = RoutingState(environment, parameters, self._leaf_changed)
        self._pings = Pings(environment, parameters, answer=self._answer_ping, answered=self._ping_answered)
        self._leaves = LeafSetMaintenance(
            environment, parameters, state, died=self._died, complete=self._leaf_set_complete
        )
        self._table_liveness = Liveness(environment, parameters, state, died=self._died, settled=lambda: None)
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

    @property
    def routes_version(self) -> int:  # type: ignore[override]
        """Changes whenever `next_hop` may answer otherwise than before."""
        return self._state.version

    @property
    def ready(self) -> bool:
        """Has joined: may be the root of keys."""
        return self._state.ready

    def handlers(self) -> dict[type[Message], Handler]:
        return {
            **self._pings.handlers(),
            **self._leaves.handlers(),
            **self._tables.handlers(),
            **self._join.handlers(),
            **self._forwarding.handlers(),
            Goodbye: self._on_goodbye,
        }

    def start(self, bootstrap: Sequence[Contact]) -> None:
        self._leaves.start()
        self._tables.start()
        self._join.start(bootstrap)

    def stop(self, graceful: bool) -> None:
        if graceful:
            goodbye = Goodbye()
            for peer in self._state.members():
                self._environment.send(peer, goodbye)
        self._join.stop()
        self._forwarding.stop()
        self._leaves.liveness.stop()
        self._table_liveness.stop()

    def on_unreachable(self, peer: int) -> None:
        """A refused connection; the peer may have come back since, so one that spoke lately is asked."""
        state = self._state
        if self._environment.now - state.heard(peer) < self._patience:
            self._suspect(peer)
        else:
            self._lost(peer)

    def gauges(self) -> dict[str, float]:
        return {
            "routing_table_entries": float(len(self._state.table)),
            "leaf_set_size": float(len(self._state.leaf_set)),
            "neighbourhood_size": float(len(self._state.neighbourhood)),
        }

    def route(self, key: int, message: Message) -> None:
        self._forwarding.route(key, message)

    def next_hop(self, key: int) -> int | None:
        return self._state.next_hop(key)

    def neighbour_set(self, count: int) -> list[int]:
        return self._state.leaf_set.nearest()[:count]

    def neighbours(self) -> dict[str, list[int]]:
        return {
            "leaf": list(self._state.leaf_set),
            "routing table": list(self._state.table),
            "neighbourhood": list(self._state.neighbourhood),
        }

    def _joined(self) -> None:
        self._state.ready = True
        self._forwarding.release()
        self._tables.announce()

    def _leaf_set_complete(self) -> None:
        self._join.complete()

    def _leaf_changed(self, peer: int, joined: bool) -> None:
        if self.application is not None:
            self.application.update(peer, joined)

    def _answer_ping(self, sender: int, message: Ping) -> Pong:
        self._state.hear(sender)
        self._join.pinged(sender, message)
        return Pong(ready=self._state.ready)

    def _ping_answered(self, peer: int, ready: bool, round_trip: float) -> None:
        state = self._state
        state.hear(peer)
        state.round_trips.sample(peer, round_trip)
        self._table_liveness.answered(peer)
        self._join.answered(peer, ready, round_trip)
        if ready:
            state.offer_slot(peer)
            state.offer_neighbour(peer)

    def _forward(self, key: int, message: Message, next_hop: int, routed: Routed) -> bool:
        state = self._state
        if isinstance(message, JoinRequest):
            self._join.contribute(routed.origin, routed.hops, last=False)
            return True
        if not state.leaf_set.covers(key) and state.table.lookup(key) is None:
            self._tables.missing(key, next_hop)
        return self.application is None or self.application.forward(key, message, next_hop, routed.hops)

    def _deliver(self, key: int, message: Message, routed: Routed) -> None:
        if isinstance(message, JoinRequest):
            if routed.origin != self._state.peer:
                self._join.contribute(routed.origin, routed.hops, last=True)
        elif self.application is not None:
            self.application.deliver(key, message, routed.origin, routed.hops)

    def _suspect(self, peer: int) -> None:
        if peer in self._state.leaf_set:
            self._leaves.suspect(peer)
        elif peer in self._state:
            self._tables.suspect(peer)

    def _on_goodbye(self, sender: int, message: Goodbye) -> None:
        self._lost(sender)

    def _lost(self, peer: int) -> None:
        self._table_liveness.stop_probing(peer)
        self._leaves.liveness.lost(peer)

    def _died(self, peer: int) -> None:
        state = self._state
        leaf_set = state.leaf_set
        was_next = peer in (side[0][1] for side in leaf_set.sides if side)
        was_in_table = peer in state.table
        state.remove(peer)
        self._forwarding.lost(peer)
        if was_next:
            self._leaves.announce()
        if was_in_table:
            self._tables.repair(identifiers.of_peer(peer))
        if state.ready and not state.members():
            state.ready = False
            self._join.again()
