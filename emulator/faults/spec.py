"""The `attackers:` and `faults:` parts of an experiment file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from emulator.contract.attack import AttackModel
from emulator.contract.package_models import kinds_of_packages
from emulator.faults.attacks import BlackHole, Delay, Duplication, Garbage, Replay
from emulator.files.quantities import Duration, RateOr0, Share


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


OWN_ATTACKS = ("black-hole", "delay", "duplication", "replay", "garbage")


def _with_kind(value: Any) -> Any:
    """Accept the name of a kind of attack for the kind with its defaults."""
    return {"kind": value} if isinstance(value, str) else value


if TYPE_CHECKING:
    Behaviour = AttackModel
else:
    _ATTACKS = (
        *(BlackHole, Delay, Duplication, Replay, Garbage),
        *kinds_of_packages("attacks", AttackModel, OWN_ATTACKS),
    )
    Behaviour = Annotated[
        Union[_ATTACKS],  # noqa: UP007
        Field(discriminator="kind"),
        BeforeValidator(_with_kind),
    ]

# A key called "for" cannot be written as an attribute of a class in Python.
_LASTS = Field(None, gt=0, description="how long it lasts; to the end of the trial if it is left out")
_Timed = create_model(
    "_Timed",
    __base__=_Model,
    at=(Duration, Field(0.0, ge=0, description="trial time at which it begins")),
    **{"for": (Duration | None, _LASTS)},  # type: ignore[call-overload]
)


class _Window(_Timed):
    """Something that begins in a trial and lasts for some time."""

    @property
    def begins(self) -> float:
        """The trial time (s) at which it begins."""
        return float(getattr(self, "at"))  # noqa: B009

    @property
    def ends(self) -> float:
        """The trial time (s) at which it is over; infinite if that is never."""
        lasts = getattr(self, "for")
        return math.inf if lasts is None else self.begins + float(lasts)

    def late(self, trial_end: float) -> list[tuple[str, str]]:
        """Return the problem of the key `at` if it would begin after the trial."""
        if self.begins < trial_end:
            return []
        return [("at", f"{self.begins:g} s, but the trial ends at {trial_end:g} s. Begin earlier")]


class _Some(_Model):
    """Some of the peers, drawn from the seed. Either `share` or `number` says how many they are."""

    share: Share | None = Field(None, gt=0, le=1, description="share of the peers")
    number: int | None = Field(None, ge=1, le=200_000, description="peers")

    def count(self, peers: int) -> int:
        """Return how many of so many peers they are."""
        return round(peers * self.share) if self.share is not None else self.number or 0

    def some_problems(self, peers: int, who: str) -> list[tuple[str, str]]:
        """Return the key and the problem if there would be none of them, or nobody else."""
        if (self.share is None) == (self.number is None):
            return [("share", f"one of `share` and `number` says how many {who} there are")]
        if not self.count(peers):
            return [("share", f"{self.share:g} of {peers} peers is nobody. Give a `number`")]
        if self.count(peers) >= peers:
            key = "share" if self.number is None else "number"
            return [(key, f"{self.count(peers)} of {peers} peers leave nobody else. Take fewer")]
        return []


class AttackersSpec(_Window, _Some):
    """The peers that behave badly, and what they do."""

    behaviour: Behaviour

    def problems(self, peers: int, trial_end: float) -> list[tuple[str, str]]:
        """Return the key below `attackers` and the problem of each combination that cannot be drawn."""
        return self.some_problems(peers, "attackers") + self.late(trial_end)


class Partition(_Some):
    """Two groups of peers between which no message passes: these peers, and all others."""

    way: Literal["both", "out", "in"] = Field(
        "both", description='"out" stops only what these peers send, "in" only what is sent to them'
    )
    senders: Literal["told", "silence"] = Field(
        "silence",
        description='"told": senders learn after `network.unreachable_after` that nobody was reached',
    )


class LinkRatesThen(_Model):
    """The rates of links while a fault lasts. A rate alone stands for both."""

    up: RateOr0 | None = Field(None, description="what a peer can send; 0 bit/s stalls it")
    down: RateOr0 | None = Field(None, description="what a peer can receive; 0 bit/s stalls it")


def _both_ways(value: Any) -> Any:
    """Accept one rate for both ways."""
    return {"up": value, "down": value} if isinstance(value, str) else value


class Links(_Some):
    """Worse links of some peers: it holds for each message that one of them sends or is sent."""

    delay: Duration = Field(0.0, ge=0, le=3600, description="time that each message takes in addition")
    loss: Share = Field(0.0, ge=0, le=1, description="share of messages that vanish in addition")
    bandwidth: Annotated[LinkRatesThen | None, BeforeValidator(_both_ways)] = Field(
        None, description="rates of the links of these peers instead of their own"
    )

    @property
    def rates(self) -> list[str]:
        """The keys of the rates that change."""
        then = self.bandwidth
        return [key for key in ("up", "down") if then is not None and getattr(then, key) is not None]


class FaultSpec(_Window):
    """One fault: a name, when, and one key that says what."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")
    partition: Partition | None = None
    links: Links | None = None

    @property
    def hits(self) -> _Some:
        """The peers that the fault hits."""
        hit = self.partition or self.links
        assert hit is not None, "the experiment was checked"
        return hit

    def problems(self, peers: int, trial_end: float) -> list[tuple[str, str]]:
        """Return the key below the fault and the problem of each combination that cannot be."""
        given = [name for name in ("partition", "links") if getattr(self, name) is not None]
        if len(given) != 1:
            return [
                ("name", f'"{self.name}" needs exactly one of `partition` and `links`'),
                *self.late(trial_end),
            ]
        found = [(f"{given[0]}.{key}", text) for key, text in self.hits.some_problems(peers, "of its peers")]
        links = self.links
        if links is not None and not (links.delay or links.loss or links.rates):
            text = "none of `delay`, `loss` and `bandwidth` is given, so nothing happens"
            found.append(("links.delay", text))
        return found + self.late(trial_end)
