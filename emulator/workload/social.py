"""Subscriptions of social networks: groups of given or skewed sizes (Quasar, section 4), and followers by a
power law (Vitis, section IV.E)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field, field_validator

from emulator.files.quantities import Share
from emulator.workload.subscription_sources import Problems, TopicSource

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from emulator.workload.subscriptions import Subscriptions


_ROUNDS = 1000
"""The most rounds of draws for the peers that one follows; then those that are left are drawn directly."""
_LARGEST = 10_000_000


class Groups(TopicSource):
    """Groups of random members; the size of each is drawn from a power law, or all have the same.

    The defaults stand for Quasar's crawl of MySpace, of which the paper gives the smallest and the largest
    group and the mean number of friends who are online, 37: this exponent gives that mean.
    """

    kind: Literal["groups"]
    per_peer: float = Field(
        5.0,
        gt=0,
        le=10_000,
        description="groups that a peer is in, on average: says how many groups there are",
    )
    size: Share | None = Field(
        None, gt=0, description="members of every group: a share of all peers if it is below 1, else how many"
    )
    smallest: int = Field(2, ge=1, le=_LARGEST, description="members of the smallest group")
    largest: int = Field(1055, ge=1, le=_LARGEST, description="members of the largest group")
    exponent: float = Field(1.53, ge=0, le=10, description="of the power law of sizes")

    @field_validator("size")
    @classmethod
    def _share_or_number(cls, value: float | None) -> float | None:
        if value is not None and value > 1 and not value.is_integer():
            raise ValueError("has to be a share below 1 or a whole number of peers")
        return value

    def problems(self) -> Problems:
        """Return sizes that are in the wrong order."""
        if self.smallest > self.largest:
            return [("smallest", f"{self.smallest} members, but the largest group has {self.largest}")]
        return []

    def misfits(self, peers: int) -> Problems:
        """Return groups that are larger than all peers together. `largest` is a bound, which fewer peers just
        lower."""
        if self.size is not None and self.size > peers:
            return [("size", f"{self.size:g} members, but there are {peers} peers. Lower it")]
        if self.size is None and self.smallest > peers:
            return [("smallest", f"{self.smallest} members, but there are {peers} peers. Lower it")]
        return []

    def draw(self, peers: int, trial_end: float, random: np.random.Generator) -> Subscriptions:
        """Draw the members of each group; a power law ends at the number of peers if `largest` is
        above it."""
        import numpy as np

        from emulator.workload.subscriptions import held_throughout

        wanted = self.per_peer * peers
        if self.size is not None:
            each = max(1, round(self.size * peers) if self.size < 1 else int(self.size))
            sizes = np.full(max(1, round(wanted / each)), each)
        else:
            largest = min(self.largest, peers)
            mean = power_law_mean(self.smallest, largest, self.exponent)
            sizes = draw_power_law(
                max(1, round(wanted / mean)), self.smallest, largest, self.exponent, random
            )
        members = [random.choice(peers, size, replace=False, shuffle=False) for size in sizes.tolist()]
        groups = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        return held_throughout(len(sizes), np.concatenate(members).astype(np.int32), groups, trial_end)


class Followers(TopicSource):
    """A follower graph: peer p follows other peers, and topic t is what peer t publishes.

    How many peers one follows is drawn from a power law, and so is each peer's popularity: those whom it
    follows are drawn by their popularity. `largest` cuts both off, and decides much, so it has no default.
    """

    topics_are_peers: ClassVar[bool] = True

    kind: Literal["followers"]
    exponent: float = Field(1.65, ge=0, le=10, description="of both power laws")
    smallest: int = Field(1, ge=1, le=_LARGEST, description="peers that one follows, at least")
    largest: int = Field(
        ge=1, le=_LARGEST, description="peers that one follows, at most; popularity spans as much"
    )

    def problems(self) -> Problems:
        """Return bounds that are in the wrong order."""
        if self.smallest > self.largest:
            return [("smallest", f"{self.smallest}, but largest is {self.largest}")]
        return []

    def draw(self, peers: int, trial_end: float, random: np.random.Generator) -> Subscriptions:
        """Draw whom each peer follows: not itself, nor more peers than there are."""
        import numpy as np

        from emulator.workload.subscriptions import held_throughout

        most = max(1, peers - 1)
        follows = draw_power_law(peers, self.smallest, self.largest, self.exponent, random)
        follows = np.minimum(follows, most if peers > 1 else 0)
        cumulative = np.cumsum(draw_power_law(peers, self.smallest, self.largest, self.exponent, random))
        followed = [_draw_distinct(peer, int(follows[peer]), cumulative, random) for peer in range(peers)]
        follower = np.repeat(np.arange(peers, dtype=np.int32), follows)
        return held_throughout(peers, follower, np.concatenate(followed).astype(np.int32), trial_end)


def power_law_mean(smallest: int, largest: int, exponent: float) -> float:
    """Return the mean of `draw_power_law`."""
    import numpy as np

    numbers = np.arange(smallest, largest + 1, dtype=np.float64)
    weights = numbers**-exponent
    return float((numbers * weights).sum() / weights.sum())


def draw_power_law(
    count: int, smallest: int, largest: int, exponent: float, random: np.random.Generator
) -> NDArray[np.int64]:
    """Return whole numbers n from `smallest` to `largest`, each with a probability proportional to n **
    -exponent."""
    import numpy as np

    numbers = np.arange(smallest, largest + 1)
    cumulative = np.cumsum(numbers.astype(np.float64) ** -exponent)
    drawn = np.searchsorted(cumulative[:-1], random.random(count) * cumulative[-1], side="right")
    found: NDArray[np.int64] = numbers[drawn]
    return found


def _draw_distinct(
    peer: int, count: int, cumulative: NDArray[np.int64], random: np.random.Generator
) -> NDArray[np.int64]:
    """Return different peers other than `peer`, drawn one after the other by weights of this running sum."""
    import numpy as np

    if count >= len(cumulative) - 1:
        return np.delete(np.arange(len(cumulative)), peer)
    found: dict[int, None] = {}
    for _ in range(_ROUNDS):
        if len(found) == count:
            break
        draws = random.random(2 * (count - len(found))) * cumulative[-1]
        for number in np.searchsorted(cumulative, draws, side="right").tolist():
            if number != peer and len(found) < count:
                found[number] = None
    if len(found) < count:
        # The rest are so unpopular that they are never found: these draws are of what is left alone.
        weights = np.diff(cumulative, prepend=0).astype(np.float64)
        weights[[peer, *found]] = 0.0
        rest = random.choice(len(weights), size=count - len(found), replace=False, p=weights / weights.sum())
        found |= dict.fromkeys(rest.tolist())
    return np.fromiter(found, dtype=np.int64, count=count)
