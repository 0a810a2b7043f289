"""The use of links, as all hosts together told it, and the check of the rates that links achieved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from emulator.compact.durations import Distribution
from emulator.experiment.run.fidelity import Check, FaultReport
from emulator.experiment.run.link_report import LinkReport, link_reports, together
from emulator.fleet.coordinator.coordinator import Coordinator
from emulator.network.link_use import LinkUse
from trellis.v1 import control_pb2

_JUDGED_S: Final = 10.0
"""The least seconds for which links have to be busy in all so that their rate is judged: over less, the
lateness of a single message, which has a limit of its own, might be an error of 3 %."""


def reports_of_links(
    results: Sequence[control_pb2.HostFidelity], coordinator: Coordinator
) -> list[LinkReport]:
    """Return the reports of the links of all hosts; none if they have no bandwidth."""
    use = [LinkUse() for _ in range(max((len(result.links) for result in results), default=0))]
    for result in results:
        for whole, part in zip(use, result.links, strict=False):
            whole.merge(_decoded(part))
    spec = coordinator.spec
    return link_reports(use, spec.network.bandwidth, spec.intervals(), coordinator.link_seconds)


def _decoded(told: control_pb2.LinkUse) -> LinkUse:
    found = LinkUse()
    found.past = [_decoded(past) for past in told.past]
    found.bytes, found.packets, found.drops = told.bytes, told.packets, told.drops
    found.waited_ns = told.waited_ns
    found.busy_bits, found.busy_s = told.busy_bits, told.busy_s
    waits = told.waits
    found.waits = Distribution(zip(waits.buckets, waits.counts, strict=True), waits.maximum_s)
    return found


def rate_checks(links: Sequence[LinkReport], faults: Sequence[FaultReport], limit: float) -> list[Check]:
    """Return the check of the rates of links, none if no links were busy for long enough in all.

    The links of a class are judged together, and so are those whose rate a fault changes, while it does.
    `limit` is the share by which a rate may differ.
    """
    busy = [
        (f"{each.way} links of class {each.link_class}", each.asked_bit_s, each.achieved_bit_s, each.busy_s)
        for each in links
        if each.asked_bit_s and each.achieved_bit_s is not None
    ]
    for name in dict.fromkeys(fault.name for fault in faults):
        told = together(rate for fault in faults if fault.name == name for rate in fault.rates)
        busy += (
            (f'{each.way} links in the fault "{name}"', each.asked_bit_s, each.achieved_bit_s, each.busy_s)
            for each in told
        )
    errors = [
        (
            abs(achieved / asked - 1),
            f"{whose}: {achieved:,.0f} bit/s instead of {asked:,}, over {busy_s:.1f} s",
        )
        for whose, asked, achieved, busy_s in busy
        if busy_s >= _JUDGED_S
    ]
    if not errors:
        return []
    error, detail = max(errors, key=lambda each: each[0])
    name = "rate of links, largest error"
    return [Check(name, round(100 * error, 3), round(100 * limit, 3), "%", detail)]
