"""The parameters of Magnet, over any control overlay."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from emulator.files.quantities import Duration
from emulator.protocols.overlays.oscar.parameters import RingParameters
from emulator.protocols.pubsub.scribe.parameters import ScribeParameters


class MagnetParameters(BaseModel):
    """The parameters of Magnet.

    The paper gives no times; docs/systems/magnet.md says where these come from.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    control: Any = Field(None, description="parameters of the control overlay")
    interest: RingParameters = Field(RingParameters(), description="parameters of OSCAR, the interest ring")
    identifier_bits: int = Field(256, ge=160, le=256, description="of identifiers on the interest ring")
    placement: Literal["similar", "hashed"] = Field(
        "similar",
        description="where a peer stands: behind the most similar one, or anywhere, as in the strawman",
    )
    similarity: Literal["plain", "rates"] = Field(
        "rates", description="whether topics weigh equally or by their publication rates"
    )
    graft: Literal["printed", "interval"] = Field(
        "interval",
        description="where a joiner is grafted: where Algorithm 2 prints it, or where the greedy path passes",
    )
    bias: Literal["none", "interests"] = Field(
        "none", description="whether the better of two long links is the less loaded or the more similar one"
    )
    samples: int = Field(10, ge=1, description="k: interests that the view of a topic has")
    round: Duration = Field(5.0, gt=0, description="time between two rounds of the membership service")
    view_patience: Duration = Field(
        4.0, ge=0, description="time that a peer waits for the views of its topics before it takes a place"
    )
    rejoin_changes: int = Field(
        10, ge=0, description="changed interests after which a peer takes another place; 0: it never does"
    )
    heartbeat: Duration = Field(5.0, gt=0, description="time between two heartbeats of tree neighbours")
    silent_heartbeats: int = Field(
        3, ge=1, description="heartbeats without a word after which a tree neighbour is given up"
    )
    join_timeout: Duration = Field(2.0, gt=0, description="time after which a tree join is sent again")
    multicast_timeout: Duration = Field(
        5.0, gt=0, description="time that a topic's home has to confirm an event; then the event is routed"
    )

    def of_membership(self) -> ScribeParameters:
        """Return Scribe's parameters for the trees of the membership service, with the same times."""
        return ScribeParameters.model_construct(
            heartbeat=self.heartbeat,
            silent_heartbeats=self.silent_heartbeats,
            join_timeout=self.join_timeout,
        )


def parameters_over(control: type[BaseModel]) -> type[MagnetParameters]:
    """Return the parameters of Magnet with a control overlay that has these parameters, all with defaults."""
    return create_model(
        f"Magnet{control.__name__}",
        __base__=MagnetParameters,
        control=(control, Field(control(), description="parameters of the control overlay")),
    )
