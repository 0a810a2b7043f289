"""The layout of a trial: it adds to a system's parameters what peers are given before the trial."""

from __future__ import annotations

from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from emulator.contract.registry import SYSTEMS
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.tables import Plan
from emulator.network.round_trips import rtt_between


def lay_out(spec: TrialSpec, plan: Plan) -> TrialSpec:
    """Return the spec with the parameters that peers are made with. Raises ValueError if there are none."""
    system = SYSTEMS[spec.system.name]
    if not system.layout:
        return spec
    module, _, name = system.layout.partition(":")
    parameters = system.parameters.model_validate(spec.system.parameters)
    made = getattr(import_module(module), name)(parameters, plan, round_trips(spec, plan))
    given = spec.system.model_copy(update={"parameters": made.model_dump(mode="json", exclude_none=True)})
    return spec.model_copy(update={"system": given})


def round_trips(spec: TrialSpec, plan: Plan) -> NDArray[np.float64]:
    """Return the RTTs (s) between all peers by the matrix, without jitter; 0 from a peer to itself."""
    return rtt_between(spec.network, plan.peers["location"].to_numpy(), spec.seed)
