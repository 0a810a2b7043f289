"""The parameters of broadcast protocols, over any membership."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, create_model

from emulator.files.quantities import Duration


class _OverMembership(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    membership: Any = Field(None, description="parameters of the membership")


class FloodingParameters(_OverMembership):
    """Flooding has nothing to choose but the membership."""


class PushGossipParameters(_OverMembership):
    """How often and to how many peers a message is pushed."""

    fanout: int = Field(
        10,
        ge=1,
        le=1000,
        description="random peers that a peer sends a message to in a round; at most those of its view",
    )
    rounds: int = Field(
        1,
        ge=1,
        le=100,
        description="rounds for which a peer sends a message on; 1: once, when it comes (infect and die)",
    )
    period: Duration = Field(1.0, gt=0, description="length of a round")


class AntiEntropyParameters(_OverMembership):
    """How often two peers compare what they have, and which way messages go."""

    period: Duration = Field(1.0, gt=0, description="time between two exchanges that a peer begins")
    direction: Literal["push-pull", "push", "pull"] = Field(
        "push-pull", description="whether who begins an exchange sends what the other lacks, gets, or both"
    )
    keep: Duration = Field(60.0, gt=0, description="time for which a peer offers a message after it came")


class PlumtreeParameters(_OverMembership):
    """The timers; docs/systems/plumtree.md says where the defaults come from."""

    missing_timeout: Duration = Field(
        2.0, gt=0, description="time from the first announcement until a message counts as missing"
    )
    graft_timeout: Duration = Field(
        1.0, gt=0, description="time after a GRAFT until the next peer that announced it is asked"
    )
    announce_interval: Duration = Field(
        0.0, ge=0, description="time for which announcements wait for others to the same peer; 0: none"
    )
    threshold: int = Field(
        0,
        ge=0,
        description="hops by which an announced way has to be shorter to replace a tree's link; 0: never",
    )
    keep: Duration = Field(60.0, gt=0, description="time for which a peer can send a message again")


P = TypeVar("P", bound=_OverMembership)


def parameters_over(own: type[P], membership: type[BaseModel]) -> type[P]:
    """Return the parameters of a protocol over a membership that has these parameters, all with defaults."""
    return create_model(
        f"{own.__name__}{membership.__name__}",
        __base__=own,
        membership=(membership, Field(membership(), description="parameters of the membership")),
    )
