"""The layout of Kyra: cliques, zones and trees, as far as its parameters ask for them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from emulator.contract.workload import Trial
from emulator.experiment.plan.tables import Plan
from emulator.layouts.cliques import cluster
from emulator.layouts.event_points import event_values
from emulator.layouts.trees import spanning_tree
from emulator.protocols.overlays.cliques.parameters import CliqueParameters
from emulator.protocols.overlays.cliques.view import even_ends
from emulator.protocols.pubsub.content.space import EventSpace
from emulator.protocols.pubsub.content.zones import draw_zones
from emulator.protocols.pubsub.kyra.epoch import Epoch, to_bounds
from emulator.protocols.pubsub.kyra.parameters import KyraLayout, KyraParameters


def lay_out_kyra(parameters: KyraParameters, plan: Plan, rtt: NDArray[np.float64]) -> KyraParameters:
    """Return the parameters with cliques, zones and trees.

    Raises ValueError for a diameter that no pair of servers meets.
    """
    if parameters.layout is not None:
        return parameters
    cliques = parameters.cliques
    if cliques.given is None:
        cliques = lay_out_cliques(cliques, rtt)
    layout = None
    if parameters.zones == "plan":
        given = cliques.given or cluster(rtt, cliques.diameter, cliques.size, cliques.minimum)
        layout = _layout(parameters, given, plan, rtt)
    return parameters.model_copy(update={"cliques": cliques, "layout": layout})


def lay_out_cliques(parameters: CliqueParameters, rtt: NDArray[np.float64]) -> CliqueParameters:
    """Return the parameters with HAC's cliques if they ask for them.

    Raises ValueError for a diameter that no pair of servers meets.
    """
    told = _too_small(parameters, rtt)
    if told is not None:
        raise ValueError(told)
    if parameters.formed == "run-time" or parameters.given is not None:
        return parameters
    given = cluster(rtt, parameters.diameter, parameters.size, parameters.minimum)
    return parameters.model_copy(update={"given": given})


def misfits(
    parameters: KyraParameters, trial: Trial, round_trips: Callable[[], NDArray[np.float64] | None]
) -> list[tuple[str, str]]:
    """Return a misfit for a diameter that no pair of servers meets, as `System.misfits` does."""
    rtt = round_trips()
    told = None if rtt is None else _too_small(parameters.cliques, rtt)
    return [] if told is None else [("cliques.diameter", told)]


def _too_small(parameters: CliqueParameters, rtt: NDArray[np.float64]) -> str | None:
    between = rtt[np.triu_indices(len(rtt), 1)]
    if not len(between) or between.min() <= parameters.diameter:
        return None
    return (
        f"no two servers are within the cliques' diameter of {parameters.diameter * 1e3:g} ms: "
        f"the nearest are {between.min() * 1e3:.1f} ms apart"
    )


def _layout(
    parameters: KyraParameters, cliques: list[list[int]], plan: Plan, rtt: NDArray[np.float64]
) -> KyraLayout:
    space = EventSpace.of(parameters.attributes)
    largest = max(map(len, cliques))
    trees = parameters.trees or largest
    parts = -(-largest // trees)
    zones = draw_zones(space, trees * parts, event_values(plan, space))
    parents = None
    if parameters.grown == "spanning":
        epoch = Epoch(1, 0.0, parts, zones)
        members: list[set[int]] = [set() for _ in range(epoch.trees)]
        for clique in cliques:
            for zone, holder in enumerate(epoch.holders(clique, even_ends(len(clique)))):
                members[zone // parts].add(holder)
        parents = [_spanning(sorted(servers), rtt) for servers in members]
    return KyraLayout(parts=parts, zones=[to_bounds(zone, space) for zone in zones], parents=parents)


def _spanning(servers: list[int], rtt: NDArray[np.float64]) -> dict[int, int]:
    tree = spanning_tree(rtt[np.ix_(servers, servers)])
    return {server: -1 if tree[place] < 0 else servers[tree[place]] for place, server in enumerate(servers)}
