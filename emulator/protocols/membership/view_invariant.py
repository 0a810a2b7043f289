"""The invariant of SWIM's views: members that are gone leave them (Das, Gupta, Motivala, DSN 2002).

Each member probes each other one within two periods for each member, less one (section 4.3, time-bounded
completeness), so a member that is down is suspected by each within that time even if no word of it spreads,
and declared failed when the suspicion ends. A member may hear of another one just before the others give that
up, so it has the same time once more.
"""

from __future__ import annotations

import math

from emulator.contract.dead_entries import DeadEntries
from emulator.contract.invariants import Broken, PeersUp
from emulator.protocols.membership.parameters import SwimParameters
from emulator.protocols.membership.swim import Swim


def broken(up: PeersUp) -> Broken | None:
    """Return the members that take somebody for up who has been down for longer."""
    found = DeadEntries(up)
    for member, swim in up.parts(Swim):
        parameters = swim.parameters
        members = swim.members_up()
        longest = 2 * noticed_within(parameters, len(members) + 1)
        if up.now - parameters.listed_at > longest:
            found.look_at(member, members, longest)
    return found.broken()


def noticed_within(parameters: SwimParameters, size: int) -> float:
    """Return the seconds within which each member of a group of this size declares a crashed one failed."""
    probes = (2 * size - 1) * (1 + parameters.largest_health) * parameters.period
    suspicion = parameters.suspicion * max(1.0, math.log10(size)) * parameters.suspicion_max
    return probes + (suspicion + 1) * parameters.period
