"""The use of links, as all hosts together told it."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.compact.durations import Distribution
from emulator.experiment.run.fidelity import LinkReport, link_reports
from emulator.network.bandwidth_spec import Bandwidth
from emulator.network.link_use import LinkUse
from trellis.v1 import control_pb2


def reports_of_links(
    results: Sequence[control_pb2.HostFidelity], bandwidth: Bandwidth | None, seconds: Sequence[float]
) -> list[LinkReport]:
    """Return the reports of the links of all hosts; none if they have no bandwidth. `seconds` are those of
    `link_reports`."""
    use = [LinkUse() for _ in range(max((len(result.links) for result in results), default=0))]
    for result in results:
        for whole, part in zip(use, result.links, strict=False):
            whole.bytes += part.bytes
            whole.packets += part.packets
            whole.drops += part.drops
            whole.waited_ns += part.waited_ns
            whole.busy_bits += part.busy_bits
            whole.busy_s += part.busy_s
            waits = part.waits
            whole.waits.merge(Distribution(zip(waits.buckets, waits.counts, strict=True), waits.maximum_s))
    return link_reports(use, bandwidth, seconds)
