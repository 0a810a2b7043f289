"""The parameters of Scribe, over any overlay."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from emulator.files.quantities import Duration


class ScribeParameters(BaseModel):
    """The parameters of Scribe.

    The paper gives no times; docs/systems/scribe.md says where these come from.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    overlay: Any = Field(None, description="parameters of the overlay")
    heartbeat: Duration = Field(
        5.0, gt=0, description="time between two heartbeats of a parent or child to the other"
    )
    silent_heartbeats: int = Field(
        3, ge=1, description="heartbeats without a word after which a parent or child is given up"
    )
    join_timeout: Duration = Field(2.0, gt=0, description="time after which a join is sent again")
    multicast_timeout: Duration = Field(
        5.0, gt=0, description="time that a known root has to confirm an event; then the event is routed"
    )
    root_replicas: int = Field(
        5, ge=0, description="k: closest peers that know the groups that a peer is the root of"
    )


def parameters_over(overlay: type[BaseModel]) -> type[ScribeParameters]:
    """Return the parameters of Scribe on an overlay that has these parameters, all with defaults."""
    return create_model(
        f"Scribe{overlay.__name__}",
        __base__=ScribeParameters,
        overlay=(overlay, Field(overlay(), description="parameters of the overlay")),
    )
