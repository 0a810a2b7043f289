"""Named regions, each with a share of the peers, and latencies between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement, pairwise
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from emulator.files.input_facts import Facts
from emulator.files.quantities import Duration, Share, format_duration
from emulator.network.cloud_tables import CLOUD_TABLES
from emulator.network.model import LatencyModel, Problems

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NAMED = 3
"""The most pairs without an RTT that are named."""
_Rtt = Annotated[Duration, Field(ge=0, le=3600)]


class Region(BaseModel):
    """A region by its name, and the share of the peers that are there."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$", description="name of the region")
    share: Share = Field(gt=0, le=1, description="share of the peers")


def region_counts(regions: Sequence[Region], peers: int) -> list[int]:
    """Return how many of so many peers are in each region; the shares add up to 1."""
    shares = [region.share for region in regions]
    inner = (round(peers * sum(shares[: index + 1])) for index in range(len(shares) - 1))
    return [above - below for below, above in pairwise([0, *inner, peers])]


def draw_regions(regions: Sequence[Region], peers: int, random: np.random.Generator) -> NDArray[np.int32]:
    """Draw the region of each peer, as its place in the list, by the shares."""
    import numpy as np

    places = np.repeat(np.arange(len(regions)), region_counts(regions, peers))
    return random.permutation(places).astype(np.int32)


def region_problems(regions: Sequence[Region], peers: int) -> Problems:
    """Return the key, below what has the regions, and the problem of shares and names that cannot be."""
    names, problems = [region.name for region in regions], list[tuple[str, str]]()
    total = sum(region.share for region in regions)
    if abs(total - 1) > 1e-9:
        problems.append(("regions", f"the shares add up to {total:g}. Make them 1"))
    else:
        for index, count in enumerate(region_counts(regions, peers)):
            if not count:
                text = f"{regions[index].share:g} of {peers} peers is nobody. Raise it"
                problems.append((f"regions.{index}.share", f"{text}, or remove the region"))
    for name in sorted({name for name in names if names.count(name) > 1}):
        problems.append(("regions", f'the name "{name}" is there twice. Rename one'))
    return problems


class LossBetween(BaseModel):
    """The loss between two regions, or within one that is named twice."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    between: list[str] = Field(
        min_length=2, max_length=2, description="the two regions; one of them twice for the loss within it"
    )
    share: Share = Field(ge=0, lt=1, description="share of the messages that vanish, in each direction")


class Regions(LatencyModel):
    """RTTs between named regions and within them, from the experiment or from the table of a cloud."""

    kind: Literal["regions"]
    regions: list[Region] = Field(min_length=1, max_length=1000)
    table: Literal["ibm-cloud-2024"] | None = Field(None, description="the RTTs of a cloud, instead of `rtt`")
    rtt: dict[str, dict[str, _Rtt]] = Field(
        default_factory=dict,
        description="region -> region -> RTT, each pair once, also of a region to itself",
    )

    loss: list[LossBetween] = Field(
        default_factory=list, max_length=10_000, description="the loss between pairs of regions, each once"
    )

    def losses(self) -> NDArray[np.float64] | None:
        """Return the share of messages that vanish between two rows of the matrix: 0 for pairs that were not
        given."""
        import numpy as np

        if not self.loss:
            return None
        rows = {name: row for row, name in enumerate(self.region_names)}
        lost = np.zeros((len(rows), len(rows)))
        for each in self.loss:
            one, other = each.between
            lost[rows[one], rows[other]] = lost[rows[other], rows[one]] = each.share
        return lost

    def host_count(self) -> int:
        """Return the number of regions: all peers of a region stand at one place."""
        return len(self.regions)

    @property
    def region_names(self) -> list[str]:
        """The names of the regions, in the order of the rows of the matrix."""
        return [region.name for region in self.regions]

    def matrix(self, seed: int) -> NDArray[np.float64]:
        """Return the RTTs (s) between regions, which no seed changes."""
        import numpy as np

        names = self.region_names
        return np.array([[self._rtt(one, other) for other in names] for one in names])

    def rtt_at_one_place(self, asked: float) -> float | NDArray[np.float64]:
        """Return the RTT (s) between two peers of each region."""
        import numpy as np

        return np.array([self._rtt(name, name) for name in self.region_names])

    def draw_places(self, peers: int, random: np.random.Generator) -> NDArray[np.int32]:
        """Draw the region of each peer by the shares."""
        return draw_regions(self.regions, peers, random)

    def region_counts(self, peers: int) -> list[int]:
        """Return how many of so many peers are in each region; the shares add up to 1."""
        return region_counts(self.regions, peers)

    def facts(self, seed: int) -> Facts:
        """Return what the table says, if it is that of a cloud."""
        if self.table is None:
            return Facts()
        return Facts((f"the RTTs are those of {self.table}, see docs/faults.md",))

    def problems(self, peers: int) -> Problems:
        """Return the key below `network.latency` and the problem of each combination that cannot be."""
        problems = region_problems(self.regions, peers)
        problems += self._loss_problems()
        return problems + (self._rtt_problems() if self.table is None else self._table_problems())

    def _loss_problems(self) -> Problems:
        problems, seen = list[tuple[str, str]](), set[frozenset[str]]()
        for index, each in enumerate(self.loss):
            key = f"loss.{index}.between"
            problems += [
                (key, f'there is no region "{name}". There are {", ".join(self.region_names)}')
                for name in dict.fromkeys(each.between)
                if name not in self.region_names
            ]
            if frozenset(each.between) in seen:
                problems.append((key, f"{' and '.join(each.between)} are there twice. Write the pair once"))
            seen.add(frozenset(each.between))
        return problems

    def _table_problems(self) -> Problems:
        known = CLOUD_TABLES[str(self.table)].names
        problems = [("rtt", f"the RTTs are those of {self.table}. Leave out one of both")] if self.rtt else []
        return problems + [
            (f"regions.{index}.name", f'{self.table} has no region "{name}". It has {", ".join(known)}')
            for index, name in enumerate(self.region_names)
            if name not in known
        ]

    def _rtt_problems(self) -> Problems:
        names = self.region_names
        problems = [
            (f"rtt.{one}" + (f".{other}" if one in names else ""), "is the RTT of no region. Remove it")
            for one, row in self.rtt.items()
            for other in row
            if one not in names or other not in names
        ]
        pairs = [*combinations_with_replacement(dict.fromkeys(names), 2)]
        missing = [pair for pair in pairs if self._given(*pair) is None]
        for one, other in missing[:_NAMED]:
            where = f'within "{one}"' if one == other else f'between "{one}" and "{other}"'
            more = f". {len(missing) - _NAMED} more are missing" if len(missing) > _NAMED else ""
            problems.append(("rtt", f"has no RTT {where}, such as {one}: {{{other}: 50 ms}}{more}"))
        for one, other in pairs:
            there, back = self.rtt.get(one, {}).get(other), self.rtt.get(other, {}).get(one)
            if there is not None and back is not None and there != back:
                text = f"is {format_duration(back)}, but rtt.{one}.{other} is {format_duration(there)}"
                problems.append((f"rtt.{other}.{one}", f"{text}. Write the pair once"))
        return problems

    def _given(self, one: str, other: str) -> float | None:
        there = self.rtt.get(one, {}).get(other)
        return self.rtt.get(other, {}).get(one) if there is None else there

    def _rtt(self, one: str, other: str) -> float:
        """Return the RTT (s) of two peers in these regions. Raises ValueError if there is none."""
        given = self._given(one, other) if self.table is None else CLOUD_TABLES[self.table].rtt(one, other)
        if given is None:
            raise ValueError(f'there is no RTT between the regions "{one}" and "{other}"')
        return given
