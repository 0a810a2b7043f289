"""The list by which the members of a group know each other from the start."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from emulator.contract.workload import Trial
from emulator.experiment.plan.tables import Plan
from emulator.protocols.membership.parameters import SwimParameters


def lay_out_starting_list(parameters: SwimParameters, plan: Plan, rtt: NDArray[np.float64]) -> SwimParameters:
    """Return the parameters with the list, if one is asked for: the peers whose first session lasts from
    before the given time until after it.

    Raises ValueError if there is no such peer.
    """
    if not parameters.listed_at or parameters.starting_list is not None:
        return parameters
    sessions = plan.sessions
    begun = pc.and_(
        pc.equal(sessions["session"], 0), pc.less_equal(sessions["start_s"], parameters.listed_at)
    )
    listed = sessions.filter(pc.and_(begun, pc.greater(sessions["end_s"], parameters.listed_at)))
    members = listed["peer"].to_pylist()
    if not members:
        raise ValueError(f"no peer is up in its first session at {parameters.listed_at:g} s (listed_at)")
    return parameters.model_copy(update={"starting_list": members})


def misfits(parameters: SwimParameters, trial: Trial, round_trips: object) -> list[tuple[str, str]]:
    """Return a misfit for a list that a file gives, and for one of a time after the trial, as
    `System.misfits` does."""
    end = trial.phases.end
    instead = f"at which its members are up, such as listed_at: {trial.phases.join or end / 2:g} s"
    found = []
    if parameters.starting_list is not None:
        text = (
            "is made from the sessions of the plan, so a file cannot give it. Leave it out, and give the time"
        )
        found.append(("starting_list", f"{text} {instead}"))
    if parameters.listed_at >= end:
        text = f"is {parameters.listed_at:g} s, but the trial ends at {end:g} s. Give a time before that"
        found.append(("listed_at", f"{text} {instead}"))
    return found
