"""The parameters of Newscast as a membership. Modules that import pydantic are not compiled."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from emulator.files.quantities import Duration


class NewscastParameters(BaseModel):
    """The size of the view and the length of a round."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    view: int = Field(20, ge=2, le=1000, description="peers of the view")
    period: Duration = Field(10.0, gt=0, description="length of a round")
