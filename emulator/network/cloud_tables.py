"""Tables of RTTs between regions of public clouds, each with its source and date.

`ibm-cloud-2024` is from the documentation of IBM Cloud (Virtual Private Cloud, network latency): averages of
3 February to 3 March 2024, between regions in ms and between the three zones of each region
(github.com/ibm-cloud-docs/vpc, _include-segments/network-latency.md, commit 009bede4f2be). The page calls
them latencies. They are taken for round trips, because light in a fibre takes 85 ms one way from London to
Sydney, and the table has 272 ms.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class CloudTable(NamedTuple):
    """The RTTs of one cloud in ms."""

    names: tuple[str, ...]
    """The regions, in the order of the rows and columns."""
    between: tuple[tuple[float, ...], ...]
    """Row by row, from each region to all others; the diagonal is 0 and means nothing."""
    zones: tuple[tuple[float, float, float], ...]
    """For each region the RTTs between its zones 1 and 2, 1 and 3, 2 and 3."""

    def rtt(self, one: str, other: str) -> float:
        """Return the RTT (s) between two regions, the mean of both directions, or between the zones of one,
        their mean."""
        here, there = self.names.index(one), self.names.index(other)
        if here == there:
            return sum(self.zones[here]) / 3 / 1000
        return (self.between[here][there] + self.between[there][here]) / 2 / 1000


_IBM_CLOUD_2024 = CloudTable(
    names=(
        *("dallas", "toronto", "washington", "frankfurt", "london"),
        *("madrid", "osaka", "sydney", "tokyo", "sao-paulo"),
    ),
    between=(
        (0, 34, 32, 123, 113, 118, 149, 185, 142, 144),
        (34, 0, 19, 92, 82, 107, 170, 215, 162, 130),
        (32, 19, 0, 98, 75, 87, 174, 215, 167, 119),
        (123, 92, 98, 0, 12, 29, 242, 260, 237, 196),
        (113, 82, 75, 12, 0, 26, 253, 272, 247, 186),
        (118, 107, 87, 29, 26, 0, 268, 281, 260, 205),
        (149, 170, 174, 245, 255, 268, 0, 124, 9, 293),
        (185, 215, 214, 260, 271, 285, 124, 0, 117, 329),
        (141, 164, 167, 237, 246, 259, 9, 117, 0, 286),
        (145, 128, 120, 196, 185, 206, 292, 326, 285, 0),
    ),
    zones=(
        (1.91, 2.02, 1.94),
        (1.72, 1.9, 1.86),
        (0.85, 0.89, 0.81),
        (0.89, 0.81, 0.8),
        (2.38, 1.87, 2.0),
        (0.68, 0.63, 0.8),
        (1.68, 1.67, 1.68),
        (1.91, 1.31, 2.02),
        (1.75, 1.54, 1.97),
        (1.97, 2.83, 2.13),
    ),
)
CLOUD_TABLES: Final = {"ibm-cloud-2024": _IBM_CLOUD_2024}
