"""The faults of a trial as its hosts told of them, for the part of a report on fidelity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from emulator.experiment.run.link_report import BusyRate, together


@dataclass(frozen=True, slots=True)
class FaultRow:
    """One fault over all hosts of a trial. Times are seconds of trial time."""

    name: str
    kind: str
    begin_s: float
    """The time at which it was to begin."""
    end_s: float | None
    """The time at which it was to end, None if it has no end."""
    hosts: int
    """The number of hosts that told of it."""
    begun: int
    """The number of hosts at which it began; a host that came back after that tells no time."""
    late_s: float | None
    """The largest difference of a time at a host from the one asked for, None if no host told any."""
    peers: int
    """The number of peers that were up and hit."""
    did: str
    """The counts of what it did, in words."""


def fault_rows(fidelity: Mapping[str, Any]) -> Iterator[FaultRow]:
    """Yield the faults of a trial in their order."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for told in fidelity.get("faults", ()):
        found.setdefault(told["name"], []).append(told)
    for name, told in found.items():
        first = told[0]
        counts: Counter[str] = Counter()
        for each in told:
            counts.update(each.get("messages") or {"waited": each["waited"]})
        errors = [
            abs(each[at] - first[asked])
            for each in told
            for asked, at in (("asked_begin_s", "begun_s"), ("asked_end_s", "ended_s"))
            if first[asked] is not None and each[at] is not None
        ]
        yield FaultRow(
            name,
            first["kind"],
            first["asked_begin_s"],
            first["asked_end_s"],
            len(told),
            sum(each["begun_s"] is not None for each in told),
            max(errors, default=None),
            sum(each["peers"] for each in told),
            ", ".join([*_counted(counts), *_rates(told)]),
        )


def _counted(counts: Mapping[str, int]) -> Iterator[str]:
    for what, count in counts.items():
        if count or what in ("crossed", "at_its_rate"):
            yield f"{count:,} {what.replace('_', ' ')}"


def _rates(told: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the rates that busy links achieved at all hosts, where any were measured."""
    for rate in together(BusyRate(**each) for host in told for each in host.get("rates", ())):
        yield f"{rate.way} {rate.achieved_bit_s / 1e6:.4g} of {rate.asked_bit_s / 1e6:g} Mbit/s"
