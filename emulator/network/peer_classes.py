"""Classes of peers, each with a share of them, as parts of an experiment file name them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from emulator.files.quantities import Share

if TYPE_CHECKING:
    import numpy as np  # a host of a fleet draws nothing, and is smaller by 10 MB without it


class PeerClass(BaseModel):
    """A class of peers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")
    share: Share = Field(gt=0, le=1, description="share of the peers")


def draw_classes(classes: Sequence[PeerClass], peers: int, random: np.random.Generator) -> list[int]:
    """Return the index of each peer's class; all have the same one, 0, if there are no classes."""
    if not classes:
        return [0] * peers
    drawn = [index for index, count in enumerate(_counts(classes, peers)) for _ in range(count)]
    random.shuffle(drawn)
    return drawn


def class_problems(classes: Sequence[PeerClass], peers: int) -> list[tuple[str, str]]:
    """Return the key, below what has the classes, and the problem of shares and names that cannot be."""
    if not classes:
        return []
    problems = []
    total = sum(each.share for each in classes)
    if abs(total - 1) > 1e-9:
        problems.append(("classes", f"the shares add up to {total:g}. Make them 1"))
    names = [each.name for each in classes]
    problems += [
        ("classes", f'the name "{name}" is there twice. Rename one')
        for name in sorted({name for name in names if names.count(name) > 1})
    ]
    for index, count in enumerate(_counts(classes, peers)):
        if not count:
            text = f"{classes[index].share:g} of {peers} peers is nobody. Raise it, or remove the class"
            problems.append((f"classes.{index}.share", text))
    return problems


def _counts(classes: Sequence[PeerClass], peers: int) -> list[int]:
    """Return how many peers each class has; their shares add up to 1."""
    shares = [each.share for each in classes]
    bounds = [0, *(round(peers * sum(shares[: index + 1])) for index in range(len(shares) - 1)), peers]
    return [above - below for below, above in pairwise(bounds)]
