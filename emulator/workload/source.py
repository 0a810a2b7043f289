"""Where the subscriptions of a trial come from: the base of all kinds of `workload.subscriptions` by topic.

Packages outside of this repository add kinds by entry points of the group `trellis.workloads`, each a
subclass of `TopicSource`.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field

from emulator.packages import BadPackage, Offer, offers
from emulator.quantities import Duration

if TYPE_CHECKING:
    import numpy as np  # a host of a fleet draws nothing, and is smaller by 10 MB without it

    from emulator.workload.subscriptions import Subscriptions

Problems = list[tuple[str, str]]
"""Key below `workload.subscriptions`, and what is wrong with it."""


class TopicSource(BaseModel):
    """The parameters of one kind of subscriptions, and how they are drawn.

    A subclass has a field `kind` of type `Literal["name"]`, and a field for each parameter. A field of type
    `Path` names a file, which is found relative to the experiment file.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    topics_are_peers: ClassVar[bool] = False
    """Whether topic t is what peer t publishes, so that no peer may change to its own topic."""

    within: Duration | None = Field(
        None,
        ge=0,
        description="peers subscribe at random times in this long after the join phase, those that join "
        "later with their join; 0: all with their join; left out: a third of the settle phase, but at the "
        "latest 10 s before it ends",
    )

    @abstractmethod
    def draw(self, peers: int, trial_end: float, random: np.random.Generator) -> Subscriptions:
        """What each peer subscribes to, from 0 to at most `trial_end` (s of trial time).

        `random` is a stream of the workload's own. Raises TraceError for a bad file.
        """

    def problems(self) -> Problems:
        """Combinations of parameters that cannot be drawn. Reads no file."""
        return []

    def problems_of_files(self, peers: int) -> Problems:
        """What is wrong inside the files that the parameters name.

        Raises TraceError for a file that cannot be read.
        """
        return []

    def bucket(self, topics: int) -> int:
        """How many of the `topics` a bucket has; a changed topic is replaced by another one of its bucket."""
        return topics

    def topics_in_bucket(self) -> int:
        """The most topics that a peer has from one bucket, if that is known before they are drawn; else 0."""
        return 0


@cache
def sources_of_packages() -> tuple[dict[str, type[TopicSource]], dict[str, str]]:
    """Kinds that packages add, and what is wrong with those that cannot be used, both by name."""
    found: dict[str, type[TopicSource]] = {}
    broken: dict[str, str] = {}
    for offer in offers("workloads", dict.fromkeys(OWN_KINDS, "")).values():
        try:
            found[offer.name] = _source(offer)
        except BadPackage as error:
            broken[offer.name] = str(error)
    return found, broken


OWN_KINDS = ("random", "low", "high", "edges", "ranges")
"""The kinds that `emulator.workload.spec` has."""


def _source(offer: Offer) -> type[TopicSource]:
    found = offer.load()
    if not (isinstance(found, type) and issubclass(found, TopicSource)):
        raise offer.refusal("it is no subclass of TopicSource")
    kind = found.model_fields.get("kind")
    if (
        kind is None
        or get_origin(kind.annotation) is not Literal
        or get_args(kind.annotation) != (offer.name,)
    ):
        raise offer.refusal(f'its field "kind" has to be of type Literal["{offer.name}"]')
    if abstract := sorted(found.__abstractmethods__):
        raise offer.refusal(f"it does not define {', '.join(abstract)}")
    return found
