"""Pastry (Rowstron and Druschel, Middleware 2001), with MSPastry's care for churn.

Read `overlay` first, which is one peer, and `routing_state`, which knows its `leaf_set` and `routing_table`.
`join` brings the peer in, `forwarding` passes messages on, `liveness` probes others and `round_trip` measures
them. `leaf_set_maintenance` and `table_maintenance` repair what the peer knows.
"""

from emulator.protocols.overlays.pastry.overlay import Pastry
from emulator.protocols.overlays.pastry.parameters import PastryParameters

__all__ = ["Pastry", "PastryParameters"]
