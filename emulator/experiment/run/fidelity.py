"""The fidelity of a trial: what was asked of the emulation and what it did, as `fidelity.json` has it.

A trial is valid if each of its checks is within its limit. `emulator.fleet.coordinator.fidelity_checks` makes
the checks of processes and pods, `emulator.runtime.virtual.run_virtual` those of the virtual clock, both with
what `emulator.runtime.delivery_judge` and `breaches` found; the analysis adds those of its reconciliation.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from emulator.experiment.file.tolerance import Amount
from emulator.experiment.run.link_report import BusyRate, LinkReport
from emulator.experiment.run.processing_report import ProcessingReport
from emulator.experiment.run.telemetry_totals import Written
from emulator.faults.crossings import Crossing
from emulator.faults.network_faults import AT_ITS_RATE
from emulator.faults.spec import AttackersSpec, FaultSpec

INVARIANTS_BROKEN: Final = "invariants broken"
"""The name of the check that fails where a broken invariant has ended the trial."""
_NAMED = 10
"""The most hosts that a reason names."""
_TOLD_OF_MESSAGES = (
    *("stopped", "dropped", "delayed", "doubled", "repeated", "damaged", "changed", "made"),
    *(AT_ITS_RATE, "crossed"),
)
"""The order in which a report tells what a fault or an attack did to messages."""


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison of the emulation with what was asked of it; a failed one invalidates the trial."""

    name: str
    """The name of the check, such as "timer lateness, 99th percentile"."""
    measured: float | None
    """The measured value; None if there was nothing to measure, or nobody told."""
    limit: float
    unit: str
    """The unit: ms, envelopes, spans, hosts, ..."""
    detail: str = ""
    """The details that a reader needs to act on a failure."""
    told_by: str = ""
    """The hosts that told of it, such as "1 of 2 hosts", if not all did; the true value may be larger."""

    @property
    def ok(self) -> bool:
        """Whether the measured value is within the limit; a value that was not measured exceeds no limit."""
        return self.measured is None or self.measured <= self.limit

    @property
    def said(self) -> str:
        """The measured value in words."""
        if self.measured is None:
            return "not measured"
        amount = _in_words(self.measured, self.unit)
        return f"at least {amount}, told by {self.told_by}" if self.told_by else amount


def _in_words(value: float, unit: str) -> str:
    """Return a value with its unit: "2 deliveries", "1 delivery", "1 ms"."""
    if value == 1 and len(unit) > len("ms"):
        unit = f"{unit.removesuffix('ies')}y" if unit.endswith("ies") else unit.removesuffix("s")
    return f"{value:g} {unit}"


def allowed(
    name: str, measured: int, key: str, amount: Amount, whole: int, unit: str, details: Sequence[str]
) -> Check:
    """Return the check of a value against the amount of a `whole` that this key of `fidelity` allows."""
    told = [*details[:_NAMED], *([f"and {len(details) - _NAMED} more"] if len(details) > _NAMED else [])]
    asked = f"fidelity.{key} is {amount}" + (f" of {whole:,} {unit}" if amount.percent is not None else "")
    return Check(name, measured, round(amount.of(whole), 3), unit, "; ".join([*told, asked]))


@dataclass(frozen=True, slots=True)
class HostReport:
    """The report of one host of the fleet. Offsets are this host's clock minus the coordinator's, in ns."""

    host: str
    peers: int
    clock_offset_start_ns: int = 0
    clock_offset_end_ns: int = 0
    state: str = "finished"
    """The state of the host at the end: "finished", "lost" or "restarted"."""
    lost_at_s: float | None = None
    """The trial time at which a lost host was last heard from."""


@dataclass(frozen=True, slots=True)
class FaultReport:
    """One fault, or the attack, as it was asked for and as one host had it. Times are s of trial time."""

    name: str
    kind: str
    host: str
    asked_begin_s: float
    asked_end_s: float | None
    """None if the fault has no end."""
    begun_s: float | None
    """None if it did not begin here, for example because the host was away."""
    ended_s: float | None
    peers: int
    """The peers of this host that it hit: those that were up. The attackers of this host that sent or got a
    message while the attack lasted."""
    waited: int
    """The calls that waited at them until they went on, or the questions to the bootstrap service."""
    messages: dict[str, int] = field(default_factory=dict)
    """The numbers of messages, for `links` by the words "stopped", "delayed", "doubled" and "damaged" of what
    it did to those that peers of this host sent, and if it changes rates "at_its_rate" of those that they
    sent over these links; for a partition "stopped", and "crossed" of those that reached peers of this host
    though they should not have; for an attack "dropped", "delayed", "repeated", "changed" and "made" of what
    attackers of this host did. Empty for other kinds."""
    crossing: Crossing | None = None
    """The first of those that crossed."""
    rates: list[BusyRate] = field(default_factory=list)
    """The rates of the links of this host's peers that it changes, up and down, as far as they were
    measured."""

    @classmethod
    def of(
        cls,
        spec: FaultSpec | AttackersSpec,
        host: str,
        begun: float | None,
        ended: float | None,
        peers: int,
        waited: int,
        messages: Mapping[str, int],
        crossing: Crossing | None,
        rates: Sequence[BusyRate] = (),
    ) -> FaultReport:
        """Return the report of a fault, or of an attack, that began, ended, hit and did so at one host."""
        asked_end = None if spec.ends == math.inf else spec.ends
        told = {what: messages[what] for what in _TOLD_OF_MESSAGES if what in messages}
        times = spec.begins, asked_end, begun, ended
        return cls(spec.name, spec.kind, host, *times, peers, waited, told, crossing, [*rates])

    @property
    def error_s(self) -> float | None:
        """The larger difference between asked and achieved times, None if the fault did not begin here."""
        achieved = ((self.asked_begin_s, self.begun_s), (self.asked_end_s, self.ended_s))
        errors = [abs(at - asked) for asked, at in achieved if asked is not None and at is not None]
        return max(errors, default=None)


def crossings_check(reports: Sequence[FaultReport]) -> Check:
    """Return the check that fails if any message crossed a partition; it needs the reports of all hosts."""
    crossed = [report.messages["crossed"] for report in reports if "crossed" in report.messages]
    first: dict[str, Crossing] = {}
    for report in reports:
        if report.crossing is not None:
            earliest = first.setdefault(report.name, report.crossing)
            first[report.name] = min(earliest, report.crossing, key=lambda crossing: crossing.arrived_s)
    told = [
        f'"{name}", first from peer {each.sender} to peer {each.receiver}, '
        f"sent at {each.sent_s:.3f} s, there at {each.arrived_s:.3f} s"
        for name, each in first.items()
    ]
    measured = sum(crossed) if crossed else None
    return Check("messages that crossed a partition", measured, 0, "messages", "; ".join(told))


@dataclass(frozen=True, slots=True)
class Fidelity:
    """The verdict over one trial."""

    runtime: str
    enforced_by: str
    """The means that applied the delays: "virtual clock", "delay line", "netem"."""
    checks: list[Check] = field(default_factory=list)
    hosts: list[HostReport] = field(default_factory=list)
    measured: dict[str, float] = field(default_factory=dict)
    """Further figures without a limit, named with their unit (such as messages_per_s), as far as measured."""
    written: list[Written] = field(default_factory=list)
    """The totals that each start of each host told of its telemetry."""
    dropped: dict[str, int] = field(default_factory=dict)
    """Counts of messages that components of the system dropped, by class and reason, with the first place."""
    faults: list[FaultReport] = field(default_factory=list)
    """The faults at each host."""
    links: list[LinkReport] = field(default_factory=list)
    """The use of links that have a bandwidth."""
    processing: list[ProcessingReport] = field(default_factory=list)
    """The time for which messages kept peers busy at each host. Empty, and not written, on the virtual clock,
    where that is exact, and where messages take no time."""
    netem_refused: str = ""
    """The reasons why netem did not delay at hosts that may use it and were asked to. Empty, and not written,
    elsewhere."""
    rates_enforced_by: str = ""
    """The means that limited the rates of links where netem delayed: "kernel", "delay line", or both where
    hosts differ. Empty, and not written, elsewhere."""
    rates_refused: str = ""
    """The reasons why the kernel did not limit the rates there."""

    @property
    def valid(self) -> bool:
        return all(check.ok for check in self.checks)

    @property
    def reasons(self) -> list[str]:
        """The reasons why the trial is invalid: a sentence for each failed check."""
        return [
            f"{c.name}: {c.said}, limit {_in_words(c.limit, c.unit)}" + (f" ({c.detail})" if c.detail else "")
            for c in self.checks
            if not c.ok
        ]

    def write(self, path: Path) -> None:
        record = asdict(self) | {"valid": self.valid, "reasons": self.reasons}
        record["checks"] = [asdict(c) | {"ok": c.ok} for c in self.checks]
        record["written"] = [told._asdict() for told in self.written]
        for fault in record["faults"]:
            for optional in ("messages", "crossing", "rates"):
                if not fault[optional]:
                    del fault[optional]
        for link in record["links"]:
            for optional in ("busy_s", "packets", "intervals"):
                if not link[optional]:
                    del link[optional]
        for optional in (
            "dropped", "faults", "links", "processing", "netem_refused", "rates_enforced_by", "rates_refused"
        ):  # fmt: skip
            if not record[optional]:
                del record[optional]
        path.write_text(json.dumps(record, indent=2) + "\n")
