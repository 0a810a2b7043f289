"""The `fidelity:` part of an experiment file: the limits beyond which a trial is invalid."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from emulator.experiment.file.tolerance import Allowance, Amount
from emulator.files.quantities import Duration, Share

_RATE_ERROR = 0.03
_FAULT_ERROR = 0.050


class FidelityLimits(BaseModel):
    """The limits of fidelity: a trial beyond any of these is invalid. Durations are in trial time."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    timer_lateness_p99: Duration = Field(0.100, gt=0, description="how late timers may be, 99th percentile")
    delay_error_p99: Duration = Field(
        0.100, gt=0, description="achieved less requested one-way delay of probes"
    )
    session_error_p99: Duration = Field(
        0.100, gt=0, description="achieved against planned join and leave times"
    )
    round_trip_error_p99: Duration = Field(
        0.020, gt=0, description="UDP echoes between hosts less the matrix's RTT, where netem enforces it"
    )
    loop_stall: Duration = Field(1.0, gt=0, description="longest time that an event loop did not turn")
    rate_error: Share = Field(
        _RATE_ERROR,
        gt=0,
        exclude_if=lambda given: given == _RATE_ERROR,
        description="share by which the rate of busy links differs from that of `network.bandwidth`",
    )
    fault_error: Duration = Field(
        _FAULT_ERROR,
        gt=0,
        exclude_if=lambda given: given == _FAULT_ERROR,
        description="begin and end of faults and of the attack at hosts against those asked for, the longest",
    )
    dropped_envelopes: int = Field(0, ge=0, description="messages that full queues dropped")
    lost_spans: int = Field(0, ge=0, description="spans that were recorded and not written")
    hosts_restarted: Allowance = Field(
        Amount(), description="hosts that the plan did not restart; or a share"
    )
    hosts_lost: Allowance = Field(Amount(), description="hosts that did not come back; or a share")
    operations_missed: Allowance = Field(
        Amount(), description="publications and lookups of peers that were not up; or a share"
    )
    impossible_deliveries: Allowance = Field(
        Amount(),
        description="deliveries of what nobody published, to peers that did not ask, too early or over too "
        "many hops; or a share of all",
    )
    repeated_deliveries: Allowance = Field(
        Amount(), description="deliveries to a peer that had the event in the same session; or a share"
    )
