"""The `network:` part of an experiment file."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from emulator.contract.package_models import kinds_of_packages
from emulator.files.quantities import Duration, Share
from emulator.network.bandwidth_spec import Bandwidth
from emulator.network.burst_loss import Bursts
from emulator.network.jitters import HalfNormal, Normal, Pareto, Quantiles
from emulator.network.latencies import Constant, King, MatrixFile
from emulator.network.model import JitterModel, LatencyModel, LossModel, Problems
from emulator.network.regions import Region, Regions, region_counts, region_problems


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


OWN_JITTERS = ("half-normal", "normal", "pareto", "quantiles")
OWN_LOSSES = ("bursts",)
OWN_KINDS = (
    *("king", "constant", "regions"),
    *("p2psim-matrix", "p2psim-topology", "planetlab", "pairs", "graph"),
)


def _kind(value: Any) -> Any:
    """Return the kind of a mapping or model, by which plain values and models are told apart."""
    return value.get("kind") if isinstance(value, dict) else getattr(value, "kind", PLAIN)


PLAIN = "a plain value"
"""The name in messages of a jitter or a loss that is a number."""

if TYPE_CHECKING:
    Latency = LatencyModel
    AnyJitter = float | JitterModel
    AnyLoss = float | LossModel
else:
    _LATENCIES = (King, Constant, Regions, MatrixFile, *kinds_of_packages("latency", LatencyModel, OWN_KINDS))
    Latency = Annotated[Union[_LATENCIES], Field(discriminator="kind")]  # noqa: UP007

    def _with_models(plain, models):
        """Return the type of a key that has a plain value, or one of these models."""
        tagged = [
            Annotated[model, Tag(get_args(model.model_fields["kind"].annotation)[0])] for model in models
        ]
        members = (Annotated[plain, Tag(PLAIN)], *tagged)
        return Annotated[Union[members], Discriminator(_kind)]  # noqa: UP007

    _JITTERS = (
        *(HalfNormal, Normal, Pareto, Quantiles),
        *kinds_of_packages("jitter", JitterModel, OWN_JITTERS),
    )
    AnyJitter = _with_models(Annotated[Duration, Field(ge=0, le=3600)], _JITTERS)
    _LOSSES = (Bursts, *kinds_of_packages("loss", LossModel, OWN_LOSSES))
    AnyLoss = _with_models(Annotated[Share, Field(ge=0, lt=1)], _LOSSES)


class LaterLatency(_Model):
    """The latency from a time of the trial on."""

    at: Duration = Field(gt=0, description="time of the trial, counted from its beginning")
    latency: Latency


class NetworkSpec(_Model):
    """The network of an experiment: the keys that say how messages travel between peers."""

    latency: Latency = Field(default_factory=King)
    later: list[LaterLatency] = Field(
        default_factory=list,
        max_length=1000,
        description="other latencies between the same places, from a time on",
        exclude_if=lambda given: not given,
    )
    regions: list[Region] = Field(
        default_factory=list,
        max_length=1000,
        description="names and shares of the peers, where the latency has no regions of its own; delays "
        "do not depend on them",
        exclude_if=lambda given: not given,
    )
    same_host_rtt: Duration = Field(
        0.001, ge=0, le=3600, description="RTT between peers at one host of the matrix"
    )
    jitter: AnyJitter = Field(
        0.0,
        description="standard deviation of the random time, never negative, that is added to each one-way "
        "delay; or a model, such as pareto",
    )
    loss: AnyLoss = Field(0.0, description="share of messages that vanish; or a model, such as bursts")
    order: Literal["any", "kept"] = Field(
        "any", description='"kept": messages from one peer to another never overtake each other'
    )
    unreachable_after: Duration = Field(
        2.0, gt=0, le=86_400, description="time after which a sender learns that its message reached nobody"
    )
    bandwidth: Bandwidth | None = Field(None, description="rates of peers' links; unlimited if left out")
    overhead: int = Field(
        0, ge=0, le=10_000, description="bytes on a link that a message has beside its encoded size"
    )
    enforce: Literal["auto", "delay-line", "netem"] = Field(
        "auto", description="what delays messages in pods: netem in the kernel, or each host's delay line"
    )

    @property
    def has_regions(self) -> bool:
        """This is true if each peer is in a region. Raises TraceError for a bad file of a latency."""
        return bool(self.regions or self.latency.region_names)

    def peers_by_region(self, peers: int) -> dict[str, int]:
        """Return how many of so many peers are in each region. Raises TraceError for a bad file."""
        if self.regions:
            return {
                each.name: count
                for each, count in zip(self.regions, region_counts(self.regions, peers), strict=True)
            }
        counts = Counter[str]()
        for name, count in zip(self.latency.region_names, self.latency.region_counts(peers), strict=True):
            counts[name] += count
        return counts

    def region_problems(self, peers: int) -> Problems:
        """Return what is wrong with `regions`. Raises TraceError for a bad file of a latency."""
        if self.regions and self.latency.region_names:
            return [("regions", "the latency has regions of its own. Leave these out")]
        return region_problems(self.regions, peers) if self.regions else []

    def latencies(self) -> list[tuple[str, LatencyModel]]:
        """Return the key and the model of each latency, in the order of their times."""
        later = [(f"network.later.{i}.latency", each.latency) for i, each in enumerate(self.later)]
        return [("network.latency", self.latency), *later]
