"""The parameters of Pastry."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from emulator.files.quantities import Duration


class PastryParameters(BaseModel):
    """The parameters of Pastry.

    Defaults are those of the papers (Middleware 2001, DSN 2004) where they name one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    digit_bits: Literal[1, 2, 4, 8] = Field(4, description="b: identifiers are numbers of base 2^b")
    leaf_set: int = Field(16, ge=2, multiple_of=2, description="|L|: leaves, half of them on each side")
    heartbeat: Duration = Field(30.0, gt=0, description="Tls: between two heartbeats to the left neighbour")
    probe_timeout: Duration = Field(3.0, gt=0, description="To: how long an answer to a probe may take")
    probe_retries: int = Field(2, ge=0, description="repetitions of a probe before a peer is declared dead")
    table_probe: Duration = Field(60.0, gt=0, description="silence after which a table entry is probed")
    table_maintenance: Duration = Field(
        1200.0, gt=0, description="between two rounds in which each row is compared with another peer's"
    )
    join_timeout: Duration = Field(
        5.0, gt=0, description="silence after which a joining peer starts again with other contacts"
    )
    search_steps: int = Field(8, ge=0, description="bound on the steps of the search for a near contact")
    first_timeout: Duration = Field(
        0.5, gt=0, description="retransmission time-out of a hop whose round trip was never measured"
    )
    timeout_margin: Duration = Field(
        0.1, gt=0, description="least that a retransmission time-out is above the mean round trip"
    )
    root_retransmissions: int = Field(
        2, ge=0, description="repetitions to the peer closest to a key before it is passed over"
    )
    failure_memory: Duration = Field(
        60.0, gt=0, description="how long others' word of a peer that was found dead is not believed"
    )
    round_trips: int = Field(512, ge=16, description="peers whose measured round trip is remembered")
