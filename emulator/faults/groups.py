"""Groups of peers that faults and attackers name: how many, or which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from emulator.files.quantities import Share
from emulator.files.region_names import unknown_region

WHO = ("share", "number", "peers", "role", "region")
"""The keys one of which says who is in a group."""


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    LATER: ClassVar[tuple[str, ...]] = ()
    """The keys that earlier versions did not have; left out where they are not given, so that the experiments
    of earlier versions stay the same."""

    @model_serializer(mode="wrap")
    def _without_later_keys(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        given: dict[str, Any] = serialize(self)
        return {key: value for key, value in given.items() if key not in self.LATER or value is not None}


@dataclass(frozen=True, slots=True)
class Crowd:
    """All peers of a trial, as far as a group can name some of them."""

    peers: int
    roles: Mapping[str, int] = field(default_factory=dict)
    """The number of peers of each role."""
    regions: Mapping[str, int] | None = field(default_factory=dict)
    """The number of peers in each region; none if the network has no regions, None if it is wrong."""
    places: int = 1
    """The number of places of the latencies, where a class of peers names some."""
    topics: int | None = None
    """The number of topics; None if only the drawn plan tells."""


class Group(Model):
    """Some of the peers. One key says which: those by `share` and `number` are drawn from the seed."""

    share: Share | None = Field(None, gt=0, le=1, description="share of the peers")
    number: int | None = Field(None, ge=1, le=200_000, description="peers")
    peers: list[int] | None = Field(None, min_length=1, max_length=200_000, description="their numbers")
    role: str | None = Field(None, description="all peers of this role, such as publisher")
    region: str | list[str] | None = Field(None, description="all peers of a region, or of several")

    LATER: ClassVar[tuple[str, ...]] = ("peers", "role", "region")

    @property
    def regions(self) -> list[str]:
        """The regions whose peers they are."""
        return [self.region] if isinstance(self.region, str) else self.region or []

    @property
    def is_drawn(self) -> bool:
        """This is true if the seed says which peers they are."""
        return self.share is not None or self.number is not None

    def count(self, crowd: Crowd) -> int:
        """Return how many peers of the crowd they are."""
        if self.share is not None:
            return round(crowd.peers * self.share)
        if self.peers is not None:
            return len(self.peers)
        if self.role is not None:
            return crowd.roles.get(self.role, 0)
        if self.region is not None:
            return sum((crowd.regions or {}).get(name, 0) for name in self.regions)
        return self.number or 0

    def group_problems(self, crowd: Crowd, who: str, others: bool = True) -> list[tuple[str, str]]:
        """Return the key and the problem if there would be none of them, or with `others` nobody else."""
        given = [key for key in WHO if getattr(self, key) is not None]
        if len(given) != 1:
            keys = f"{', '.join(f'`{key}`' for key in WHO[:-1])} and `{WHO[-1]}`"
            return [(given[0] if given else "share", f"exactly one of {keys} says who {who} are")]
        (key,) = given
        if problem := self._unknown(crowd):
            return [(key, problem)]
        if key == "region" and crowd.regions is None:
            return []
        count = self.count(crowd)
        if not count and key == "region":
            named = " or ".join(f'"{name}"' for name in self.regions)
            wanted = "Raise the share of the region, or `peers`"
            return [(key, f"no peer of {crowd.peers} is in {named}. {wanted}")]
        if not count:
            return [(key, f"{self.share:g} of {crowd.peers} peers is nobody. Give a `number`")]
        if count > crowd.peers or (others and count == crowd.peers):
            return [(key, f"{count} of {crowd.peers} peers leave nobody else. Take fewer")]
        return []

    def _unknown(self, crowd: Crowd) -> str:
        """Return what is wrong with the peers or the name that the group gives, or an empty text."""
        for peer in self.peers or ():
            if not 0 <= peer < crowd.peers:
                return f"there is no peer {peer}. They are 0 to {crowd.peers - 1}"
        if self.peers is not None and len(set(self.peers)) < len(self.peers):
            return "a peer is named twice. Name it once"
        if self.role is not None and not crowd.roles.get(self.role):
            known = ", ".join(sorted(name for name, count in crowd.roles.items() if count))
            return f'no peer has the role "{self.role}". There are: {known}'
        return unknown_region(self.regions, crowd.regions) if self.region is not None else ""


class Side(Group):
    """One of two groups between which something holds. A region's name alone stands for all its peers."""

    @property
    def is_named_region(self) -> bool:
        """This is true if the side is one region and nothing else."""
        return isinstance(self.region, str) and not any(getattr(self, key) for key in WHO if key != "region")

    @model_serializer(mode="wrap")
    def _by_name(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any] | str | list[str] | None:
        return self.region if self.is_named_region else self._without_later_keys(serialize)
