"""The rate at which trials of a system take events, processor time and memory."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SystemRate:
    """The costs that were measured of compiled trials of one system on the virtual clock."""

    peer_events: float
    """The events of the loop (messages that arrive, timers that fall due) that a peer has in a second without
    being asked for anything."""
    subscription_events: float
    """The further events in a second for each subscription."""
    load_events: float
    """The further events for each unit of the load of the plan (`emulator.experiment.plan.load`)."""
    grows: bool
    """This is true if all of these grow with the logarithm of the number of peers; they are those of 160."""
    us: float
    """The microseconds of processor time an event, with 160 peers."""
    base_s: float
    """The processor time (s) before the first event, such as for drawing the plan."""
    base_bytes: float
    """The memory of a trial beside its peers; `peer_bytes` is that of a peer."""
    peer_bytes: float
    rounds: tuple[tuple[str, float], ...] = ()
    """The shares of the events of peers and subscriptions that come with the rounds of a parameter, such as
    `heartbeat` or `overlay.period`: twice as often with half of its default."""
