"""The parameters of all systems that route by content between servers."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from emulator.files.quantities import Duration


class ContentParameters(BaseModel):
    """The parameters of the event space."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    attributes: dict[str, tuple[float, float]] = Field(
        {"a1": (0.0, 1000.0)}, min_length=1, description="known to all: name to domain [low, high]"
    )

    @model_validator(mode="after")
    def _has_domains(self) -> Self:
        for name, (low, high) in self.attributes.items():
            if not low < high:
                raise ValueError(f"the domain of {name} needs low < high")
        return self


class FilterParameters(ContentParameters):
    """The parameters of filter-based routing on trees."""

    beat: Duration = Field(1.0, gt=0, description="period in which a server asks its parent whether it is up")
    patience: Duration = Field(1.0, gt=0, description="silence after which a request is made again; open")
    memory: Duration = Field(60.0, gt=0, description="how long an event's number is remembered; open")
