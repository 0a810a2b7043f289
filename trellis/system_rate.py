"""The rate at which trials of a system take events, processor time and memory."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SystemRate:
    """What trials of one system on the virtual clock were measured to take, compiled."""

    peer_events: float
    """Events of the loop (messages that arrive, timers that fall due) of a peer in a second that nobody asks
    for."""
    load_events: float
    """Further events for each delivery, lookup, get or put of the plan (`emulator.experiment.plan.load`)."""
    us: float
    """The microseconds of processor time an event, with 160 peers."""
    base_s: float
    """The processor time (s) before the first event, such as for drawing the plan."""
    base_bytes: float
    """The memory of a trial beside its peers; `peer_bytes` is that of a peer."""
    peer_bytes: float
