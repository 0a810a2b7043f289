"""The `attackers:` part of an experiment file."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from emulator.contract.attack import AttackModel
from emulator.contract.package_models import kinds_of_packages
from emulator.faults.attacks import BlackHole, Delay, Duplication, Garbage, Replay
from emulator.files.quantities import Duration


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
_Timed = create_model(
    "_Timed",
    __base__=_Model,
    at=(Duration, Field(0.0, ge=0, description="trial time at which the bad behaviour begins")),
    **{"for": (Duration | None, Field(None, description="how long it lasts; to the end if it is left out"))},  # type: ignore[call-overload]
)


class AttackersSpec(_Timed):
    """The peers that behave badly, and what they do. Either `share` or `number` says how many they are."""

    share: float | None = Field(None, gt=0, le=1, description="share of the peers")
    number: int | None = Field(None, ge=1, le=200_000, description="peers")
    behaviour: Behaviour

    @property
    def begins(self) -> float:
        """The trial time (s) from which on they behave badly."""
        return float(getattr(self, "at"))  # noqa: B009

    @property
    def ends(self) -> float:
        """The trial time (s) until which they behave badly; infinite if they never stop."""
        lasts = getattr(self, "for")
        return math.inf if lasts is None else self.begins + float(lasts)

    def count(self, peers: int) -> int:
        """Return how many of so many peers are attackers."""
        return round(peers * self.share) if self.share is not None else self.number or 0

    def problems(self, peers: int, trial_end: float) -> list[tuple[str, str]]:
        """Return the key below `attackers` and the problem of each combination that cannot be drawn."""
        problems = []
        if (self.share is None) == (self.number is None):
            problems.append(("share", "one of `share` and `number` says how many attackers there are"))
        elif not self.count(peers):
            problems.append(("share", f"{self.share:g} of {peers} peers is nobody. Give a `number`"))
        elif self.count(peers) >= peers:
            key = "share" if self.number is None else "number"
            problems.append((key, f"{self.count(peers)} of {peers} peers leave nobody to be attacked"))
        if self.begins >= trial_end:
            problems.append(("at", f"{self.begins:g} s, but the trial ends at {trial_end:g} s"))
        return problems
