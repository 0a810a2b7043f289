"""The `invariants:` part of an experiment file: conditions on the states of peers that are to hold."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from emulator.experiment.file.trial_part import TrialPart
from emulator.files.quantities import Duration

_FORM = re.compile(r"\s*(?P<name>[a-z][a-z0-9_]*)(?:\s+(?P<part>\S.*?))?\s*")


@dataclass(frozen=True, slots=True)
class Held:
    """An invariant that is to hold in a trial, or in a part of it."""

    text: str
    name: str
    part: TrialPart | None

    @classmethod
    def parse(cls, text: str) -> Held:
        """Return what a text says. Raises ValueError for any other text."""
        form = _FORM.fullmatch(text) if len(text) <= 200 else None
        if form is None:
            raise ValueError(
                "it is the name of an invariant of the system, and perhaps a part of the trial, such as "
                '"ring_is_one_cycle from 30 s after split"'
            )
        part = None if form["part"] is None else TrialPart.parse(" ".join(form["part"].split()))
        return cls(text.strip(), form["name"], part)


def _checked(text: str) -> str:
    return Held.parse(text).text


class InvariantsSpec(BaseModel):
    """The invariants that are looked at, and how often."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    every: Duration = Field(5.0, ge=0.01, le=86_400, description="time between two looks")
    hold: list[Annotated[str, AfterValidator(_checked)]] | None = Field(
        None,
        min_length=1,
        max_length=100,
        description="names of invariants, perhaps with a part of the trial; all of the system if left out",
    )
    stop: bool = Field(False, description="end the trial, which is invalid then, at the first broken one")
