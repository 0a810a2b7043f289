"""Lays out what a system's peers are given before a trial."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from emulator.experiment.draw import draw_locations
from emulator.experiment.plan import Plan
from emulator.experiment.spec import TrialSpec
from emulator.network.build import build_network, host_count
from emulator.network.spec import NetworkSpec
from emulator.registry import SYSTEMS


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


_MOST_HOSTS = 5000
"""Of a matrix that is made to check an experiment file; of a larger one a trial tells when it starts."""


def expected_round_trips(spec: TrialSpec) -> NDArray[np.float64] | None:
    """RTTs (s) between all peers, before there is a plan; None if the matrix is too large for a quick check.

    Raises TraceError for a bad matrix file.
    """
    if host_count(spec.network.latency) > _MOST_HOSTS:
        return None
    return _rtt_of_peers(spec.network.model_dump_json(), tuple(draw_locations(spec).tolist()), spec.seed)


@lru_cache(maxsize=8)
def _rtt_of_peers(network: str, locations: tuple[int, ...], seed: int) -> NDArray[np.float64]:
    """RTTs (s) between all peers; variants of an experiment often have the same."""
    return rtt_between(NetworkSpec.model_validate_json(network), np.array(locations, np.int32), seed)


def round_trips(spec: TrialSpec, plan: Plan) -> NDArray[np.float64]:
    """RTTs (s) between all peers, by the matrix alone; 0 from a peer to itself."""
    return rtt_between(spec.network, plan.peers["location"].to_numpy(), spec.seed)


def rtt_between(spec: NetworkSpec, locations: NDArray[np.int32], seed: int) -> NDArray[np.float64]:
    """RTTs (s) between peers at these rows of the matrix, in their order."""
    network = build_network(spec, locations.tolist(), seed)
    one_way = np.array([network.rows[place] for place in range(len(network.rows))], np.float64)
    rtt: NDArray[np.float64] = 2 * one_way[np.ix_(locations, locations)]
    np.fill_diagonal(rtt, 0.0)
    return rtt
