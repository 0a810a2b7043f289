"""The parameters of SWIM, and the presets of Lifeguard and memberlist."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from emulator.files.quantities import Duration, format_duration

_LIFEGUARD: Final[Mapping[str, Any]] = {
    "confirm": "by-incarnation",
    "largest_health": 8,
    "nacks": True,
    "suspicion_max": 6,
    "confirmations": 3,
    "buddy": True,
}
PRESETS: Final[Mapping[str, Mapping[str, Any]]] = {
    "swim": {},
    "lifeguard": _LIFEGUARD,
    "memberlist": {
        **_LIFEGUARD,
        "largest_health": 7,
        "stretched": "period",
        "nack_after": 1.0,
        "missed_nacks": "each",
        "suspicion": 4,
        "confirmations": 2,
        "repeats": 4,
        "gossip": "200 ms",
        "gossip_nodes": 3,
        "push_pull": "30 s",
        "join": "all",
        "forget_after": "30 s",
    },
}
"""The parameters that each preset sets; those that an experiment gives itself hold instead."""


class SwimParameters(BaseModel):
    """The parameters of one group; docs/systems/swim.md says where they come from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    preset: Literal["swim", "lifeguard", "memberlist"] = Field(
        "swim", description="parameters that hold unless they are given"
    )
    period: Duration = Field(1.0, gt=0, description="protocol period: each member probes one other in it")
    timeout: Duration = Field(
        0.5, gt=0, description="time after a ping without an answer until helpers are asked; below `period`"
    )
    helpers: int = Field(3, ge=0, le=100, description="members that are asked to ping a silent one (k)")
    repeats: int = Field(
        6,
        ge=1,
        le=100,
        description="an update is sent this often (lambda), times the decimal logarithm of the group, "
        "rounded up",
    )
    most_updates: int = Field(30, ge=1, le=10_000, description="updates that ride on a message at most")
    suspicion: float = Field(
        5.0,
        ge=0,
        le=100,
        description="periods that a suspected member has to speak for itself, times the decimal logarithm of "
        "the group; 0: a silent member counts as failed at once",
    )
    confirm: Literal["final", "by-incarnation"] = Field(
        "final",
        description="final: a member that was declared failed stays so whatever it says (SWIM); "
        "by-incarnation: it comes back with a higher incarnation (memberlist)",
    )
    largest_health: int = Field(
        0,
        ge=0,
        le=100,
        description="largest score of local health, by which probes are slowed (LHA-Probe); 0: off",
    )
    stretched: Literal["both", "period"] = Field(
        "both",
        description="what bad health multiplies. both: period and time-out of probes (LHA-Probe); period: "
        "the period alone (memberlist)",
    )
    nacks: bool = Field(False, description="whether helpers tell that a member is silent (LHA-Probe)")
    nack_after: float = Field(
        0.8,
        gt=0,
        le=1,
        description="share of the time-out after which a helper tells that a member is silent; memberlist: 1",
    )
    missed_nacks: Literal["once", "each"] = Field(
        "once",
        description="how a failed probe makes health worse. once: by one, and by another one if a helper was "
        "asked and did not tell that the member is silent (LHA-Probe); each: by the number of such helpers, "
        "and by one if none was asked (memberlist)",
    )
    suspicion_max: float = Field(
        1.0,
        ge=1,
        le=100,
        description="longest time of a suspicion in times the shortest one (LHA-Suspicion); 1: off",
    )
    confirmations: int = Field(
        3, ge=0, le=100, description="independent suspicions that make it the shortest (LHA-Suspicion)"
    )
    buddy: bool = Field(
        False, description="whether a ping tells a suspected member first that it is suspected (buddy system)"
    )
    gossip: Duration = Field(
        0.0, ge=0, description="time between two rounds of messages with updates alone; 0: none"
    )
    gossip_nodes: int = Field(3, ge=1, le=100, description="members that get them in a round")
    forget_after: Duration = Field(
        0.0,
        ge=0,
        description="time for which a member that was declared failed gets such messages and stays listed",
    )
    push_pull: Duration = Field(
        0.0, ge=0, description="time between two exchanges of whole lists with a random member; 0: none"
    )
    join: Literal["first", "all"] = Field(
        "first",
        description="whether a joining member exchanges lists with the first contact that answers, or with "
        "all of them, one after the other (memberlist)",
    )
    reconnect: Duration = Field(
        0.0, ge=0, description="time between two tries to reach a failed member, as Serf's 30 s; 0: none"
    )
    reconnect_timeout: Duration = Field(
        86_400.0, gt=0, description="time after which a failed member is not tried any more"
    )
    listed_at: Duration = Field(
        0.0,
        ge=0,
        description="time at which all members are up that know each other from the start; they probe from "
        "then on; a peer that comes later or again joins by a contact. 0: every member joins by a contact",
    )
    starting_list: list[int] | None = Field(
        None,
        description="the members that know each other from the start; made from the plan and "
        "`listed_at`, so a file cannot give it",
    )

    @model_validator(mode="before")
    @classmethod
    def _preset(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        preset = given.get("preset", "swim")
        return {**PRESETS.get(preset, {}), **given} if isinstance(preset, str) else given

    @model_serializer(mode="wrap")
    def _without_later(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out `stretched` with its default where no preset sets it.

        So experiments of earlier versions stay the same.
        """
        given: dict[str, Any] = serialize(self)
        if self.stretched == "both" and "stretched" not in PRESETS.get(self.preset, {}):
            del given["stretched"]
        return given

    @model_validator(mode="after")
    def _fits(self) -> SwimParameters:
        if self.timeout >= self.period:
            raise ValueError(
                f"timeout is {format_duration(self.timeout)} and has to be below period, "
                f"{format_duration(self.period)}, so that helpers have time to answer. Lower timeout"
            )
        return self
