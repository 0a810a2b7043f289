"""The source of a trial's subscriptions: the bases of all kinds of `workload.subscriptions`.

Packages outside of this repository add kinds by entry points of the group `trellis.subscriptions`, each a
subclass of `TopicSource` or `ContentSource`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field

from emulator.contract.packages import BadPackage, Offer, offers
from emulator.files.quantities import Duration

if TYPE_CHECKING:
    import numpy as np  # a host of a fleet draws nothing, and is smaller by 10 MB without it
    from numpy.typing import NDArray

    from emulator.workload.subscriptions import Subscriptions

Problems = list[tuple[str, str]]
"""Key below `workload.subscriptions`, and what is wrong with it."""

Rows = Sequence[Sequence[Mapping[str, Any]]]
"""A nested column of the plan."""


class Source(BaseModel):
    """The parameters of one kind of subscriptions, and the way in which they are drawn.

    A subclass has a field `kind` of type `Literal["name"]`, and a field for each parameter. A field of type
    `Path` names a file, which is found relative to the experiment file.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    def problems(self) -> Problems:
        """Return combinations of parameters that cannot be drawn. Reads no file."""
        return []

    def misfits(self, peers: int) -> Problems:
        """Return parameters that do not fit so many peers, or clients if there are any. Reads no file."""
        return []

    def problems_of_files(self, peers: int) -> Problems:
        """Return what is wrong inside the files that the parameters name.

        Raises TraceError for a file that cannot be read.
        """
        return []


class TopicSource(Source):
    """A kind of subscriptions to topics."""

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
        """Return what each peer subscribes to, from 0 to at most `trial_end` (s of trial time).

        `random` is a stream of the workload's own. Raises TraceError for a bad file.
        """

    def bucket(self, topics: int) -> int:
        """Return how many of the `topics` a bucket has; a changed topic is replaced by another one of its
        bucket."""
        return topics

    def topics_in_bucket(self) -> int:
        """Return the most topics that a peer has from one bucket, if that is known before they are drawn;
        else 0."""
        return 0


class ContentSource(Source):
    """A kind of subscriptions by content, and the attributes of the events that they are matched with."""

    per_peer: float = Field(5.0, gt=0, le=10_000, description="mean over all peers")
    within: Duration = Field(
        0.0, ge=0, description="they arrive at random times in this long after the joins; 0: with the joins"
    )

    @abstractmethod
    def domains(self) -> Mapping[str, tuple[float, float]]:
        """Return the attributes with the lowest and the highest value that they have in events."""

    @abstractmethod
    def draw_interests(self, count: int, random: np.random.Generator) -> Rows:
        """Return what each of `count` subscriptions asks for: attributes, all of which have to match.

        An attribute is `{"attribute": name, "low": lowest, "high": highest}` for a closed range of values, or
        `{"attribute": name, "values": [value, ...]}` for a set of them.
        """

    @abstractmethod
    def draw_events(self, count: int, random: np.random.Generator) -> Rows:
        """Return the attributes of each of `count` events: `{"attribute": name, "value": value}`."""


class PlacedContentSource(ContentSource):
    """A kind of subscriptions by content that depend on the subscriber and its place in the network."""

    regions: int = 1
    """The number of regions of peers that are near each other."""

    @abstractmethod
    def draw_interests_of(
        self, peer: NDArray[np.int32], region: NDArray[np.int32], random: np.random.Generator
    ) -> Rows:
        """Return what subscriptions ask for; `peer` and `region` (from 0 on) are those of each one."""

    def draw_interests(self, count: int, random: np.random.Generator) -> Rows:
        """Return what the subscriptions of so many peers ask for, one each, without regard to places."""
        import numpy as np

        peers = np.arange(count, dtype=np.int32)
        return self.draw_interests_of(peers, peers % self.regions, random)


@cache
def sources_of_packages() -> tuple[dict[str, type[Source]], dict[str, str]]:
    """Return the kinds that packages add, and what is wrong with those that cannot be used, both by name."""
    found: dict[str, type[Source]] = {}
    broken: dict[str, str] = {}
    for offer in offers("subscriptions", OWN_KINDS).values():
        try:
            found[offer.name] = _source(offer)
        except BadPackage as error:
            broken[offer.name] = str(error)
    return found, broken


OWN_KINDS = (
    *("random", "low", "high", "edges", "groups", "followers", "ranges", "boxes"),
    *("multi-modal", "spatial", "hierarchical-topics", "editors-file", "editors"),
)
"""The kinds that `emulator.workload.spec` has."""


def _source(offer: Offer) -> type[Source]:
    found = offer.load()
    if not (isinstance(found, type) and issubclass(found, TopicSource | ContentSource)):
        raise offer.refusal("it is no subclass of TopicSource or ContentSource")
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
