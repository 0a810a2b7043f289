"""The `workload:` part of an experiment file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from emulator.quantities import Duration


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class BucketPattern(_Model):
    """Topics drawn uniformly from a few buckets (Vitis, section IV.A).

    random: all topics are one bucket; low: 5 buckets a peer; high: 2 buckets a peer.
    """

    kind: Literal["random", "low", "high"]
    topics: int = Field(5000, ge=1)
    per_peer: int = Field(50, ge=1)
    buckets: int = Field(100, ge=1)


class EdgeList(_Model):
    """A follower graph: a line `a b` says that a follows (subscribes to) b; topics are the nodes.

    A graph with more nodes than there are peers is sampled by breadth-first searches
    (Vitis, section IV.E).
    """

    kind: Literal["edges"]
    file: Path


class Attribute(_Model):
    """A numeric attribute of events, and how it is drawn (Li, section 4.1.2, tables 4.2 and 4.3)."""

    name: str = Field(min_length=1, max_length=100)
    low: float
    high: float
    presence: float = Field(0.5, ge=0, le=1, description="share of subscriptions that name the attribute")
    sub_range: float = Field(gt=0, description="width of the sub-ranges that the domain is divided into")
    skew: float = Field(0.0, ge=0, le=10, description="of the Zipf distribution over sub-ranges")
    size_skew: float = Field(0.0, ge=0, le=10, description="of the Zipf distribution over range sizes")
    size_bound: float = Field(0.5, gt=0, le=1, description="largest range, as a share of the domain")


class RangePattern(_Model):
    """Conjunctions of ranges over the attributes, by random peers (Li, section 4.1)."""

    kind: Literal["ranges"]
    per_peer: float = Field(5.0, gt=0, le=10_000, description="mean over all peers")
    within: Duration = Field(
        0.0, ge=0, description="they arrive at random times in this long after the joins; 0: with the joins"
    )
    attributes: list[Attribute] = Field(min_length=1)


TopicSource = BucketPattern | EdgeList
Subscriptions = Annotated[BucketPattern | EdgeList | RangePattern, Field(discriminator="kind")]


class Lookups(_Model):
    """Lookups of keys in the measure phase, as a Poisson process over the whole network."""

    rate: float = Field(gt=0, le=1e6, description="lookups per second in the whole network")
    keys: Literal["uniform", "peers"] = Field(
        "uniform", description="uniform in the identifier space, or identifiers of random peers that are up"
    )


class Resubscribe(_Model):
    """Peers that change interests while they are up."""

    share: float = Field(
        0.0, ge=0, le=1, description="share of each peer's topics replaced in the measure phase"
    )


class Uniform(_Model):
    kind: Literal["uniform"] = "uniform"


class PowerLaw(_Model):
    """The topic of rank r is published to at a rate proportional to r ** -alpha (Vitis, IV.D)."""

    kind: Literal["power-law"]
    alpha: float = Field(ge=0, le=5)


Rates = Annotated[Uniform | PowerLaw, Field(discriminator="kind")]


class Publications(_Model):
    events: int = Field(200, ge=0, description="in the measure phase, at uniformly random times")
    rates: Rates = Field(default_factory=Uniform)
    publisher: Literal["subscriber", "any"] = "subscriber"
    payload_bytes: int = Field(256, ge=0, le=1_000_000)


def _publications(given: dict[str, Any]) -> Publications | None:
    return None if given.get("subscriptions") is None else Publications()


class WorkloadSpec(_Model):
    """Who asks for what, and what is published; or what is looked up."""

    subscriptions: Subscriptions | None = None
    lookups: Lookups | None = None
    changes: Resubscribe = Field(default_factory=Resubscribe)
    publications: Publications | None = Field(default_factory=_publications)

    @property
    def asks_for(self) -> Literal["topics", "content", "lookups"]:
        """What the system has to serve."""
        if self.lookups is not None:
            return "lookups"
        return "content" if isinstance(self.subscriptions, RangePattern) else "topics"
