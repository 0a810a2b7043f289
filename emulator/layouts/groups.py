"""Multicast groups by Forgy k-means over event cells (Riabov et al., ICDCS 2002, sections 3 and 4)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emulator.experiment.plan.tables import Plan
from emulator.layouts.event_points import event_values
from emulator.layouts.trees import spanning_tree
from emulator.protocols.pubsub.content.space import EventSpace
from emulator.protocols.pubsub.groups.parameters import GroupLayout, GroupParameters
from emulator.protocols.pubsub.groups.system import cell_of, part_of

_ROUNDS = 100
Booleans = NDArray[np.bool_]
Numbers = NDArray[np.float64]


def lay_out_groups(parameters: GroupParameters, plan: Plan, rtt: Numbers) -> GroupParameters:
    """Return the parameters with groups: each one's spanning tree, and the way into it from every server."""
    if parameters.layout is not None:
        return parameters
    space, each = EventSpace.of(parameters.attributes), parameters.cells_each
    wanted = members_of_cells(plan, space, each, len(rtt))
    rates = np.bincount(
        [cell_of(space, each, values) for values in event_values(plan, space)], minlength=len(wanted)
    )
    # A cell without an event in the plan may still get one, so each cell counts one event more.
    group = forgy(wanted, (rates + 1.0) / (rates + 1.0).sum(), parameters.groups)
    parents, entries = [], []
    for number in range(int(group.max(initial=-1)) + 1):
        servers = np.flatnonzero(wanted[group == number].any(axis=0))
        tree = spanning_tree(rtt[np.ix_(servers, servers)])
        parents.append(
            {int(s): -1 if tree[place] < 0 else int(servers[tree[place]]) for place, s in enumerate(servers)}
        )
        entries.append(servers[rtt[:, servers].argmin(axis=1)].tolist())
    layout = GroupLayout(group_of_cell=group.tolist(), parents=parents, entries=entries)
    return parameters.model_copy(update={"layout": layout})


def members_of_cells(plan: Plan, space: EventSpace, each: int, servers: int) -> Booleans:
    """Return for each cell (row) the servers (columns) that want something in it at any time of the trial."""
    wanted = np.zeros((each ** len(space.names), servers), np.bool_)
    shape = (each,) * len(space.names)
    numbers = np.arange(len(wanted)).reshape(shape)
    for row in plan.subscriptions.select(["peer", "ranges"]).to_pylist():
        asked = {part["attribute"]: part for part in row["ranges"] or ()}
        axes = []
        for name, low, high in zip(space.names, space.lows, space.highs, strict=True):
            part = asked.get(name)
            if part is None:
                axes.append(np.arange(each))
                continue
            first, last = (part_of(part[end], low, high, each) for end in ("low", "high"))
            of_set = None if part["values"] is None else {part_of(v, low, high, each) for v in part["values"]}
            axes.append(np.arange(first, last + 1) if of_set is None else np.array(sorted(of_set)))
        wanted[numbers[np.ix_(*axes)].ravel(), row["peer"]] = True
    return wanted


def forgy(wanted: Booleans, rate: Numbers, groups: int) -> NDArray[np.int64]:
    """Return the group of each cell, -1 for a cell that no server wants.

    The distance of a cell from a group is the waste that is expected if the cell joins: events of the cell
    that reach members that do not want it, and events of the group that reach servers that want the cell
    alone. The first groups are the cells with most wanted events. Then all cells go to the nearest group and
    groups are made of their cells, until nothing changes, or for 100 rounds.
    """
    some = np.flatnonzero(wanted.any(axis=1))
    found = np.full(len(wanted), -1, np.int64)
    if not len(some):
        return found
    cells, weight = wanted[some].astype(np.float64), rate[some]
    sizes = cells.sum(axis=1)
    seeds = np.argsort(-weight * sizes, kind="stable")[:groups]
    members, mass = cells[seeds].copy(), weight[seeds].copy()
    group = np.full(len(some), -1, np.int64)
    for _ in range(_ROUNDS):
        common = cells @ members.T
        waste = weight[:, None] * (members.sum(axis=1)[None, :] - common) + mass[None, :] * (
            sizes[:, None] - common
        )
        nearest = waste.argmin(axis=1)
        if np.array_equal(nearest, group):
            break
        group = nearest
        kept = np.unique(group)
        group = np.searchsorted(kept, group)
        members = np.array([cells[group == number].max(axis=0) for number in range(len(kept))])
        mass = np.array([weight[group == number].sum() for number in range(len(kept))])
    found[some] = group
    return found
