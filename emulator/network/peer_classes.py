"""Classes of peers, as parts of an experiment file name them.

A class has all peers of a role or a region, or a share of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Protocol

from pydantic import BaseModel, ConfigDict, Field

from emulator.files.quantities import Share
from emulator.files.region_names import RegionNames, unknown_region

if TYPE_CHECKING:
    import numpy as np  # a host of a fleet draws nothing, and is smaller by 10 MB without it

_WHO = ("share", "role", "region", "places")


class PeerClass(BaseModel):
    """A class of peers. One key says which."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$", description="name of the class")
    share: Share | None = Field(
        None, gt=0, le=1, description="share of the peers that no role and no region of other classes names"
    )
    role: str | None = Field(
        None, description="all peers of this role", exclude_if=lambda given: given is None
    )
    region: RegionNames | None = Field(
        None, description="all peers of a region, or of several", exclude_if=lambda given: given is None
    )
    places: list[Annotated[int, Field(ge=0)]] | None = Field(
        None,
        min_length=1,
        max_length=20_000,
        description="all peers at these rows of the latencies, from 0 on, such as nodes of a graph",
        exclude_if=lambda given: given is None,
    )


class Population(Protocol):
    """The number of peers of a trial, by what classes can name."""

    @property
    def peers(self) -> int: ...

    @property
    def roles(self) -> Mapping[str, int]: ...

    @property
    def regions(self) -> Mapping[str, int] | None: ...

    @property
    def places(self) -> int: ...


def draw_classes(
    classes: Sequence[PeerClass],
    role: Sequence[str],
    region: Sequence[str],
    place: Sequence[int],
    random: np.random.Generator,
) -> list[int]:
    """Return the index of each peer's class; all have the same one, 0, if there are no classes.

    `role`, `region` and `place` have those of each peer; there are no regions if `region` is empty. A peer
    that several classes name is in the first of them.
    """
    if not classes:
        return [0] * len(role)
    drawn: list[int | None] = [None] * len(role)
    for index, each in reversed(list(enumerate(classes))):
        places = frozenset(each.places or ())
        for peer, own in enumerate(role):
            named = own == each.role or (each.region is not None and region[peer] in each.region)
            named = named or place[peer] in places
            drawn[peer] = index if named else drawn[peer]
    others = [peer for peer, index in enumerate(drawn) if index is None]
    shares = [each.share or 0.0 for each in classes]
    shared = [index for index, count in enumerate(_counts(shares, len(others))) for _ in range(count)]
    random.shuffle(shared)
    for peer, index in zip(others, shared, strict=True):
        drawn[peer] = index
    return [index or 0 for index in drawn]


def class_problems(
    classes: Sequence[PeerClass], crowd: Population, may_be_empty: bool = False
) -> list[tuple[str, str]]:
    """Return the key, below what has the classes, and the problem of shares and names that cannot be.

    With `may_be_empty`, a class may have so small a share that it has no peer.
    """
    problems = []
    for index, each in enumerate(classes):
        given = [key for key in _WHO if getattr(each, key) is not None]
        if len(given) != 1:
            text = f"give {' and '.join(given)} to one class each" if given else f"give {', '.join(_WHO[:2])}"
            problems.append(
                (f"classes.{index}", text if given else f"{text} or {_WHO[2]}, to say whose it is")
            )
        if each.role is not None and not crowd.roles.get(each.role):
            there = ", ".join(name for name, count in crowd.roles.items() if count)
            problems.append(
                (f"classes.{index}.role", f'no peer has the role "{each.role}". There are: {there}')
            )
        if each.region is not None and (text := unknown_region(each.region, crowd.regions)):
            problems.append((f"classes.{index}.region", text))
        for number in [number for number in each.places or () if number >= crowd.places][:1]:
            text = f"there is no place {number}. The latency has {crowd.places}, from 0 on"
            problems.append((f"classes.{index}.places", text))
    names = [each.name for each in classes]
    problems += [
        ("classes", f'the name "{name}" is there twice. Rename one')
        for name in sorted({name for name in names if names.count(name) > 1})
    ]
    return problems or _share_problems(classes, crowd, may_be_empty)


def _share_problems(
    classes: Sequence[PeerClass], crowd: Population, may_be_empty: bool
) -> list[tuple[str, str]]:
    """Return the problems of shares, which are of the peers that no role and no region names."""
    shares = [each.share or 0.0 for each in classes]
    named = [each for each in classes if each.share is None]
    problems = []
    if any(shares) and abs(sum(shares) - 1) > 1e-9:
        problems.append(("classes", f"the shares add up to {sum(shares):g}. Make them 1"))
    if classes and not any(shares) and not _names_all(named, crowd):
        text = "the peers of other roles, regions and places have no class. Add one with `share: 1` for them"
        problems.append(("classes", text))
    for index, count in enumerate(_counts(shares, crowd.peers) if not named else ()):
        if not count and not may_be_empty:
            text = f"{shares[index]:g} of {crowd.peers} peers is nobody. Raise it, or remove the class"
            problems.append((f"classes.{index}.share", text))
    return problems


def _names_all(named: Sequence[PeerClass], crowd: Population) -> bool:
    """Return whether these classes name all roles that peers have, or all regions."""
    roles = {each.role for each in named}
    regions = {name for each in named for name in each.region or ()}
    if crowd.regions and regions >= set(crowd.regions):
        return True
    places = {place for each in named for place in each.places or ()}
    if places and len(places) == crowd.places:
        return True
    return all(role in roles for role, count in crowd.roles.items() if count)


def _counts(shares: Sequence[float], peers: int) -> list[int]:
    """Return how many peers each class has; their shares add up to 1, or are all 0."""
    if not any(shares):
        return [0] * len(shares)
    ends = (round(peers * sum(shares[: index + 1])) for index in range(len(shares)))
    return [above - below for below, above in pairwise([0, *ends])]
