"""The `workload:` part of an experiment file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Union

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    create_model,
    field_validator,
    model_serializer,
)

from emulator.contract.packages import BadPackage
from emulator.contract.registry import WORKLOADS
from emulator.contract.workload import WorkloadKind
from emulator.files.quantities import Duration, Share
from emulator.files.region_names import RegionNames
from emulator.workload.broadcast_spec import Broadcasts
from emulator.workload.content_patterns import BoxPattern, RangePattern
from emulator.workload.correlated import CORRELATED
from emulator.workload.edge_files import First
from emulator.workload.membership_spec import Members
from emulator.workload.social import Followers, Groups
from emulator.workload.subscription_sources import ContentSource, Problems, TopicSource, sources_of_packages
from emulator.workload.value_spec import Values

if TYPE_CHECKING:
    import numpy as np

    from emulator.workload.subscriptions import Subscriptions as DrawnSubscriptions

_BUCKETS_A_PEER = {"random": 1, "low": 5, "high": 2}


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BucketPattern(TopicSource):
    """Topics drawn uniformly from a few buckets (Vitis, section IV.A).

    random: all topics are one bucket; low: 5 buckets a peer; high: 2 buckets a peer.
    """

    kind: Literal["random", "low", "high"]
    topics: int = Field(5000, ge=1, le=10_000_000, description="number of topics")
    per_peer: int = Field(50, ge=1, le=10_000, description="topics that each peer subscribes to")
    buckets: int = Field(
        100, ge=1, le=10_000_000, description="equal parts of the topics, by which interests are alike"
    )

    def draw(self, peers: int, trial_end: float, random: np.random.Generator) -> DrawnSubscriptions:
        """Draw `per_peer` topics for every peer, which holds them from its first join on."""
        from emulator.workload.patterns import draw_pattern
        from emulator.workload.subscriptions import each_holds

        size = self.bucket(self.topics)
        chosen, each = _BUCKETS_A_PEER[self.kind], self.topics_in_bucket()
        topics = draw_pattern(peers, self.topics // size, size, chosen, each, random)
        return each_holds(self.topics, topics, trial_end)

    def problems(self) -> Problems:
        """Return the numbers that do not divide or do not fit."""
        buckets = _BUCKETS_A_PEER[self.kind]
        if buckets > 1 and self.buckets < buckets:
            text = f"{self.buckets}, but with {self.kind} correlation a peer has {buckets} buckets"
            return [("buckets", f"{text}. Make it at least {buckets}")]
        if buckets > 1 and self.topics % self.buckets:
            text = f"{self.topics} topics do not divide into {self.buckets} equal buckets"
            return [("buckets", f"{text}. Make topics a multiple of it")]
        if self.per_peer % buckets:
            text = f"{self.per_peer} topics do not divide into a peer's {buckets} buckets"
            return [("per_peer", f"{text}. Make it a multiple of {buckets}")]
        each, size = self.topics_in_bucket(), self.bucket(self.topics)
        if each > size:
            text = f"{each} topics from each of a peer's {buckets} bucket(s), but a bucket has only {size}"
            return [("per_peer", f"{text}. Make it at most {size * buckets}")]
        return []

    def bucket(self, topics: int) -> int:
        """Return the number of topics in a bucket: all of them if the pattern is `random`."""
        return topics if self.kind == "random" else topics // self.buckets

    def topics_in_bucket(self) -> int:
        """Return the number of topics that a peer has from each of its buckets."""
        return self.per_peer // _BUCKETS_A_PEER[self.kind]


class EdgeList(TopicSource):
    """A follower graph: a follower subscribes to those it follows; topics are the nodes.

    A graph with more nodes than there are peers is sampled by breadth-first searches (Vitis, section IV.E).
    """

    topics_are_peers: ClassVar[bool] = True

    kind: Literal["edges"]
    file: Path = Field(description="the follower graph, an edge on each line")
    first: First = Field(
        "follower", description="whom a line `a b` names first; both: a and b follow each other"
    )

    def draw(self, peers: int, trial_end: float, random: np.random.Generator) -> DrawnSubscriptions:
        """Return the subscriptions of the graph: peer p is a node and topic t is what peer t publishes.

        Raises TraceError for a bad graph or one with fewer nodes than peers.
        """
        from emulator.files.trace_error import TraceError
        from emulator.workload.followers import load_followers, sample
        from emulator.workload.subscriptions import held_throughout

        graph = load_followers(self.file, first=self.first)
        if graph.nodes < peers:
            text = f"has {graph.nodes} nodes, but the trial needs {peers}: lower `peers`"
            raise TraceError(self.file, 0, text)
        part = sample(graph, peers, random)
        return held_throughout(peers, part.follower, part.followed, trial_end, part.facts)

    def problems_of_files(self, peers: int) -> Problems:
        """Return a problem if the graph has fewer nodes than there are peers."""
        from emulator.workload.followers import load_followers

        nodes = load_followers(self.file, first=self.first).nodes
        text = f"has {nodes} nodes, but there are {peers} peers. Lower peers"
        return [("file", text)] if nodes < peers else []


if TYPE_CHECKING:
    Subscriptions = TopicSource | ContentSource
else:
    _OWN = (BucketPattern, EdgeList, Groups, Followers, RangePattern, BoxPattern, *CORRELATED)
    _KINDS = (*_OWN, *sources_of_packages()[0].values())
    Subscriptions = Annotated[Union[_KINDS], Field(discriminator="kind")]  # noqa: UP007


class Lookups(_Model):
    """Lookups of keys in the measure phase, as a Poisson process over the whole network."""

    rate: float = Field(gt=0, le=1e6, description="lookups per second in the whole network")
    keys: Literal["uniform", "peers", "skewed"] = Field(
        "uniform",
        description="uniform in the identifier space, or hashed identifiers of random peers that are up, or "
        "with a uniform logarithm, as skewed identifiers of OSCAR are",
    )
    region: RegionNames | None = Field(None, description="the regions whose peers ask; all if left out")


class Resubscribe(_Model):
    """Peers that change interests while they are up."""

    share: Share = Field(
        0.0, ge=0, le=1, description="share of each peer's topics replaced in the measure phase"
    )


class Uniform(_Model):
    kind: Literal["uniform"] = "uniform"


class PowerLaw(_Model):
    """The topic of rank r is published to at a rate proportional to r ** -alpha (Vitis, IV.D)."""

    kind: Literal["power-law"]
    alpha: float = Field(ge=0, le=5, description="exponent: 0 gives all topics the same rate")
    ranks: Literal["random", "popularity"] = Field(
        "random", description="whether the topics with the most subscribers have the highest rates"
    )


class Popularity(_Model):
    """A topic is published to at a rate proportional to its subscribers in the plan."""

    kind: Literal["popularity"]


Rates = Annotated[Uniform | PowerLaw | Popularity, Field(discriminator="kind")]


PeerNumber = Annotated[int, Field(ge=0, lt=200_000, strict=True)]


class Publications(_Model):
    """The events of the measure phase, and who publishes them."""

    events: int = Field(
        200, ge=0, le=5_000_000, description="in the measure phase, at uniformly random times"
    )
    rates: Rates = Field(default_factory=Uniform)
    publisher: Literal["subscriber", "any"] | PeerNumber = Field(
        "subscriber",
        description="subscriber: a peer with a subscription to the topic, or by content to anything; any: "
        "whoever may publish; a number: that peer alone",
    )
    payload_bytes: int = Field(
        256, ge=0, le=1_000_000, description="bytes of an event that the application gives"
    )


ROLES = ("publisher", "subscriber", "relay")
"""The roles that an experiment gives numbers of peers."""


class Roles(_Model):
    """The number of peers that do less than subscribe and publish: a share of all if it is below 1, else a
    count.

    All other peers do both; their role is `peer`, or `server` if peers have clients.
    """

    publisher: Share = Field(0.0, ge=0, le=200_000, description="publish and do not subscribe")
    subscriber: Share = Field(0.0, ge=0, le=200_000, description="subscribe and do not publish")
    relay: Share = Field(0.0, ge=0, le=200_000, description="do neither")
    regions: dict[Literal["publisher", "subscriber", "relay"], RegionNames] = Field(
        default_factory=dict, description="role -> the regions whose peers have it; all if left out"
    )

    @field_validator("publisher", "subscriber", "relay")
    @classmethod
    def _share_or_number(cls, value: float) -> float:
        if value > 1 and not value.is_integer():
            raise ValueError("has to be a share below 1 or a whole number of peers")
        return value

    def numbers(self, peers: int) -> dict[str, int]:
        """Return how many of `peers` peers have each of these roles."""
        given = {name: getattr(self, name) for name in ROLES}
        return {name: round(value * peers) if value < 1 else int(value) for name, value in given.items()}


class Clients(_Model):
    """Clients, which subscribe and publish at the peer that is their server."""

    per_peer: int = Field(ge=1, le=10_000, description="of each peer that is no relay")
    mean_session: Duration | None = Field(
        None, gt=0, description="clients come for this long on average (exponential); left out: they stay"
    )
    mean_gap: Duration = Field(30.0, gt=0, description="and are away for this long on average")


def _publications(given: dict[str, Any]) -> Publications | None:
    return None if given.get("subscriptions") is None else Publications()


class WorkloadSpec(_Model):
    """The requests to peers: the keys that are there choose the kind of workload.

    Each kind of a package has a key of its own name.
    """

    subscriptions: Subscriptions | None = None
    lookups: Lookups | None = None
    values: Values | None = None
    membership: Members | None = None
    broadcast: Broadcasts | None = None
    changes: Resubscribe = Field(default_factory=Resubscribe)
    publications: Publications | None = Field(default_factory=_publications)
    roles: Roles = Field(default_factory=Roles)
    clients: Clients | None = None

    def chosen(self) -> list[WorkloadKind]:
        """Return the kinds that the keys choose: one, if nothing is wrong."""
        return [
            kind for kind in WORKLOADS.usable() if isinstance(getattr(self, kind.key, None), kind.parameters)
        ]

    @property
    def kind(self) -> WorkloadKind:
        """The kind that the keys choose. Raises ValueError if they choose none, or several."""
        chosen = self.chosen()
        if len(chosen) != 1:
            raise ValueError("workload: has to choose one kind of workload")
        return chosen[0]

    @property
    def asks_for(self) -> str:
        """The name of the kind, which the system has to serve. Raises ValueError as `kind` does."""
        return self.kind.name

    @model_serializer(mode="wrap")
    def _without_absent_kinds(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out the keys of kinds that are not there and came later than the format or with a package, so
        that they change nothing."""
        told: dict[str, Any] = serialize(self)
        return {name: value for name, value in told.items() if name in _KEYS or value is not None}


_KEYS = frozenset(WorkloadSpec.model_fields) - {"values", "membership", "broadcast"}
"""The keys that a workload is always written with."""


def _kinds_of_packages() -> tuple[dict[str, type[BaseModel]], dict[str, str]]:
    found, broken = dict[str, type[BaseModel]](), dict[str, str]()
    for name in WORKLOADS:
        if WORKLOADS.package_of(name):
            try:
                found[name] = WORKLOADS[name].parameters
            except BadPackage as error:
                broken[name] = str(error)
    return found, broken


_OF_PACKAGES, _BROKEN_KINDS = _kinds_of_packages()
"""The schemas of the kinds that packages add, and what is wrong with those that cannot be used, by name."""


def broken_parts(workload: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the keys of a `workload:`, as it was written, that belong to unusable packages, each with the
    reason."""
    for name, reason in _BROKEN_KINDS.items():
        if workload.get(name) is not None:
            yield name, f"is there, but {reason}"
    subscriptions = workload.get("subscriptions")
    kind = subscriptions.get("kind") if isinstance(subscriptions, dict) else None
    if not isinstance(kind, str):
        return
    if (why := sources_of_packages()[1].get(kind)) is not None:
        yield "subscriptions", f'"kind" is "{kind}", but {why}'
    elif kind in _BROKEN_KINDS and kind not in sources_of_packages()[0]:
        mend = "Kinds of subscriptions belong into the group trellis.subscriptions"
        yield "subscriptions", f'"kind" is "{kind}", but {_BROKEN_KINDS[kind]}. {mend}'


if not TYPE_CHECKING and _OF_PACKAGES:
    WorkloadSpec = create_model(
        "WorkloadSpec",
        __base__=WorkloadSpec,
        **{name: (parameters | None, None) for name, parameters in _OF_PACKAGES.items()},
    )
