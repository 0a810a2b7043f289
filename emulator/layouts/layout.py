"""Lays out what a system's peers are given before a trial."""

from __future__ import annotations

from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from emulator.contract.registry import SYSTEMS
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.tables import Plan
from emulator.network.round_trips import rtt_between


def lay_out(spec: TrialSpec, plan: Plan) -> TrialSpec:
    """The spec with the parameters that peers are made with. Raises ValueError if there are none."""
    system = SYSTEMS[spec.system.name]
    if not system.layout:
        return spec
    module, _, name = system.layout.partition(":")
    parameters = system.parameters.model_validate(spec.system.parameters)
    made = getattr(import_module(module), name)(parameters, plan, round_trips(spec, plan))
    given = spec.system.model_copy(update={"parameters": made.model_dump(mode="json", exclude_none=True)})
    return spec.model_copy(update={"system": given})


def round_trips(spec: TrialSpec, plan: Plan) -> NDArray[np.float64]:
    """RTTs (s) between all peers, by the matrix alone; 0 from a peer to itself."""
    return rtt_between(spec.network, plan.peers["location"].to_numpy(), spec.seed)
