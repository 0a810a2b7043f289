"""Checks whether the parameters of a system fit the trial's peers and latencies."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from emulator.contract.mistakes import code_of
from emulator.contract.registry import SYSTEMS
from emulator.experiment.file.spec import TrialSpec
from emulator.files.trace_error import TraceError
from emulator.network.build_network import draw_locations
from emulator.network.round_trips import rtt_between
from emulator.network.spec import NetworkSpec

_MOST_HOSTS = 5000
"""The most hosts of a matrix that is made for a check; with a larger one, the trial itself tells when it
starts."""


def find_misfits(spec: TrialSpec) -> list[tuple[str, str]]:
    """Return the key, a dotted path, and the problem of each misfit.

    A bad matrix file gives none, because another check tells of it.
    """
    system = SYSTEMS[spec.system.name]
    if not system.misfits:
        return []

    def round_trips() -> NDArray[np.float64] | None:
        if spec.network.latency.host_count() > _MOST_HOSTS:
            return None
        locations = draw_locations(spec.network, spec.peers, spec.seed)
        return _rtt_of_peers(spec.network.model_dump_json(), tuple(locations.tolist()), spec.seed)

    module, _, name = system.misfits.partition(":")
    parameters = system.parameters.model_validate(spec.system.parameters)
    try:
        with code_of(system.create, f"could not be checked by {system.misfits}", TraceError):
            found = getattr(import_module(module), name)(parameters, spec, round_trips)
            return [(key, text) for key, text in found]
    except TraceError:
        return []


@lru_cache(maxsize=8)
def _rtt_of_peers(network: str, locations: tuple[int, ...], seed: int) -> NDArray[np.float64]:
    """Return the RTTs (s) between all peers; variants of an experiment often have the same."""
    return rtt_between(NetworkSpec.model_validate_json(network), np.array(locations, np.int32), seed)
