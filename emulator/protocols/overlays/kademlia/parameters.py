"""The parameters of Kademlia, and the values of two networks that run it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from emulator.files.quantities import Duration

_PRESETS: Final[Mapping[str, Mapping[str, object]]] = {
    "paper": {},
    "libp2p": {
        "k": 20,
        "alpha": 10,
        "beta": 3,
        "ends": "beta",
        "refresh": "10 min",
        "failures": 1,
        "keep_stale": False,
    },
    "mainline": {"k": 8, "alpha": 3, "refresh": "15 min", "questionable": "15 min", "failures": 2},
}
"""The values of each preset that are not the defaults."""


class KademliaParameters(BaseModel):
    """The parameters of Kademlia.

    docs/systems/kademlia.md says which of them the paper names, and where the values of the presets come
    from.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    preset: Literal["paper", "libp2p", "mainline"] = Field(
        "paper", description="the network whose values the parameters have that are not given"
    )
    k: int = Field(20, ge=1, le=256, description="contacts of a bucket, and peers that a lookup finds")
    alpha: int = Field(3, ge=1, le=256, description="requests of a lookup that are under way at once")
    beta: int = Field(
        3,
        ge=1,
        le=256,
        description="closest peers that have to answer before a lookup that `ends: beta` is over",
    )
    b: int = Field(1, ge=1, le=8, description="bits of the key that a step of a lookup is to decide (4.2)")
    ends: Literal["loose", "strict", "all", "beta"] = Field(
        "loose",
        description="how a lookup ends. `loose`: alpha requests are always under way, until the k closest "
        "have answered; `strict`: each round of alpha is waited for; `all`: so, but all of the k closest are "
        "asked at once after a round that found none closer; `beta`: as `loose`, until the beta closest "
        "have answered",
    )
    iterative: Literal["lookups", "all", "none"] = Field(
        "lookups",
        description="messages whose origin finds the closest peer itself, as the paper looks keys up; each "
        "peer passes the others on to its closest contact",
    )
    full_bucket: Literal["ping", "cache"] = Field(
        "ping",
        description="what a newcomer to a full bucket does: has the contact that was heard of least recently "
        "pinged, whose place it takes if there is no answer (2.2), or waits until one is stale (4.1)",
    )
    questionable: Duration = Field(
        0.0, ge=0, description="silence after which a contact is pinged for a newcomer; before, it stays"
    )
    failures: int = Field(
        5, ge=1, description="requests in a row that a contact leaves unanswered before it is stale (4.1)"
    )
    keep_stale: bool = Field(
        True, description="whether a stale contact stays until another one can take its place (4.1)"
    )
    backoff: Duration = Field(
        1.0,
        ge=0,
        description="time for which a contact is not asked after it was silent; twice that the next time, "
        "and so on (4.1)",
    )
    refresh: Duration = Field(
        3600.0, gt=0, description="time without a lookup in the range of a bucket after which one is made"
    )
    timeout: Duration = Field(2.0, gt=0, description="time that a peer has to answer")
    retries: int = Field(1, ge=0, description="repetitions of a request before it has failed")
    join_timeout: Duration = Field(
        1.0, gt=0, description="time after which a peer that found nobody asks again for contacts"
    )
    tell_found: bool = Field(
        False,
        description="whether the origin of a lookup tells of each peer that it found, for the measures of "
        "the k closest",
    )

    @model_validator(mode="before")
    @classmethod
    def _take_preset(cls, given: Any) -> Any:
        """Fill in the preset's values where none is given."""
        if not isinstance(given, Mapping):
            return given
        return {**_PRESETS.get(str(given.get("preset", "paper")), {}), **given}
