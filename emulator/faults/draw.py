"""Draws the peers that attack and those that faults hit, from the seed and whatever the kind is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from emulator.faults.groups import Crowd, Group
from emulator.faults.spec import OF_PEERS, FaultSpec


def draw_group(
    group: Group | None,
    role: NDArray[Any],
    region: NDArray[Any],
    random: np.random.Generator,
    spared: Collection[int] = (),
) -> NDArray[np.int32]:
    """Return the numbers of the peers of a group, ascending; those of no group are none.

    `role` and `region` have those of each peer. Those that are `spared` are not drawn.
    """
    if group is None:
        return np.zeros(0, np.int32)
    if group.peers is not None:
        chosen: NDArray[Any] = np.array(group.peers)
    elif group.role is not None:
        chosen = np.flatnonzero(role == group.role)
    elif group.regions:
        chosen = np.flatnonzero(np.isin(region, group.regions))
    else:
        drawn = random.permutation(len(role))
        chosen = drawn[~np.isin(drawn, list(spared))][: group.count(Crowd(len(role)))]
    return np.sort(chosen).astype(np.int32)


def draw_sides(
    fault: FaultSpec, role: NDArray[Any], region: NDArray[Any], random: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the peers of the two groups between which a fault holds; the second is empty for other faults.

    A group that is drawn has none of the peers of the other one. The first is drawn first, if both are.
    """
    if fault.links is None or fault.links.between is None:
        return draw_group(fault.hits, role, region, random), draw_group(None, role, region, random)
    first, second = fault.links.between
    if first.is_drawn and not second.is_drawn:
        named = draw_group(second, role, region, random)
        return draw_group(first, role, region, random, named), named
    chosen = draw_group(first, role, region, random)
    return chosen, draw_group(second, role, region, random, chosen)


def meetings(sides: Sequence[tuple[NDArray[np.int32], NDArray[np.int32]]]) -> list[tuple[str, str]]:
    """Return the key and the problem of each fault between two groups that have a peer in common."""
    problems = []
    for index, (first, second) in enumerate(sides):
        both = np.intersect1d(first, second)
        if len(both):
            text = f"peer {both[0]} is in both groups. Name it in one of them, or draw one by `share`"
            problems.append((f"faults.{index}.links.between", text))
    return problems


_Where = TypeVar("_Where", bound=np.generic)


def at_one_place(where: NDArray[_Where], attackers: NDArray[np.int32], identities: int) -> NDArray[_Where]:
    """Return the location or region of each peer if each attacker poses as `identities` of the attacking
    peers.

    All identities of an attacker are where the first of them is.
    """
    moved = where.copy()
    first = attackers[np.arange(len(attackers)) // identities * identities]
    moved[attackers] = where[first]
    return moved


def overlaps(faults: Sequence[FaultSpec], hit: Sequence[NDArray[np.int32]]) -> list[tuple[str, str]]:
    """Return the key and the problem of each fault of a peer's own that hits a peer which an earlier one of
    its kind still hits, or which is paused while it has crashed with its state kept. `hit` has the peers of
    each fault."""
    problems = []
    for later, fault in enumerate(faults):
        for earlier in range(later if fault.kind in OF_PEERS else 0):
            other = faults[earlier]
            apart = fault.begins >= other.ends or other.begins >= fault.ends
            if apart or not _exclude_each_other(other, fault):
                continue
            both = np.intersect1d(hit[earlier], hit[later])
            if len(both):
                what = f"two faults of the kind `{fault.kind}`"
                if other.kind != fault.kind:
                    what = "a `pause` and a `crash` with its state kept"
                text = (
                    f'"{fault.name}" hits peer {both[0]} while "{other.name}" does, and no peer can have '
                    f"{what} at a time. Move one, or name other peers"
                )
                problems.append((f"faults.{later}.at", text))
    return problems


def _exclude_each_other(one: FaultSpec, other: FaultSpec) -> bool:
    """Return whether no peer can have both faults of a peer's own at a time."""
    kept = (one.keeps_state and other.pause is not None) or (one.pause is not None and other.keeps_state)
    return one.kind == other.kind or kept
