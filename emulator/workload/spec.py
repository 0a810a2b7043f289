"""The `workload:` part of an experiment file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


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


Subscriptions = Annotated[BucketPattern | EdgeList, Field(discriminator="kind")]


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


class WorkloadSpec(_Model):
    """Who asks for what, and what is published."""

    subscriptions: Subscriptions
    changes: Resubscribe = Field(default_factory=Resubscribe)
    publications: Publications = Field(default_factory=Publications)
