"""Subscriptions to topics of unequal popularity: a kind of `workload.subscriptions`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from emulator.workload.subscription_sources import Problems, TopicSource

if TYPE_CHECKING:
    import numpy as np  # imported where it is used: hosts read the parameters and draw nothing

    from emulator.workload.subscriptions import Subscriptions


class Zipf(TopicSource):
    """Each peer subscribes to a few topics; the one of rank r is chosen with a weight of r ** -skew."""

    kind: Literal["zipf"]
    topics: int = Field(100, ge=1)
    per_peer: int = Field(5, ge=1)
    skew: float = Field(1.0, ge=0, le=5)

    def problems(self) -> Problems:
        """Report if a peer is to have more topics than there are."""
        text = f"{self.per_peer}, but there are only {self.topics} topics"
        return [("per_peer", text)] if self.per_peer > self.topics else []

    def draw(self, peers: int, trial_end: float, random: np.random.Generator) -> Subscriptions:
        """Draw topics that peers hold from the first join to the trial's end. Topic 0 is the most popular
        one."""
        import numpy as np

        from emulator.workload.subscriptions import each_holds

        weight = np.arange(1.0, self.topics + 1) ** -self.skew
        # The topics with the largest of these are a draw without replacement (Efraimidis, Spirakis, 2006).
        keys = np.log(random.random((peers, self.topics))) / weight
        chosen = np.argsort(-keys, axis=1)[:, : self.per_peer]
        return each_holds(self.topics, chosen.astype(np.int32), trial_end)
