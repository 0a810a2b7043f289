"""The use of links and the rates that they achieved, as `fidelity.json` has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from emulator.network.bandwidth_spec import Bandwidth
from emulator.network.link_use import LinkUse

WAYS: Final = ("up", "down")
"""The directions of links, as their numbers have them."""


@dataclass(frozen=True, slots=True)
class LinkInterval:
    """The use of the links of one class in one direction in an interval of the time series.

    A message counts when it enters a link that sends one message after the other at a constant rate, and when
    it leaves any other link.
    """

    start_s: float
    end_s: float
    messages: int | None
    """The number of messages; None if the kernel limited the links, because it knows no messages."""
    bytes: int
    wait_mean_ms: float | None
    """The mean wait; this and the next field are None if there were no messages."""
    wait_p99_ms: float | None
    drops: int
    """The messages that did not fit."""
    load: float | None
    """The bits that the links took in over those that they can carry while their peers are up by the plan;
    None if no peer is up."""


@dataclass(frozen=True, slots=True)
class LinkReport:
    """The use of the links of one class in one direction in the measure phase, at all hosts.

    A message waits as long as it is later at the link's end than it would have been alone on the link.
    """

    link_class: int
    way: str
    """The direction: "up" or "down"."""
    messages: int | None
    """The number of messages. It and the waits are None if the kernel limited the links: the kernel counts
    packets, of which `bytes` are then, and measures no waits."""
    bytes: int
    wait_mean_ms: float | None
    wait_p99_ms: float | None
    wait_max_ms: float | None
    asked_bit_s: int | None
    """The rate of each link, None if it has no limit."""
    achieved_bit_s: float | None
    """The rate at which messages left directly behind each other, None if no link was busy for 250 ms."""
    busy_s: float
    """The time of all links together in which that was measured; 0 where it was not, which is not written."""
    drops: int = 0
    """The messages that did not fit, or the packets if the kernel limited the links."""
    load: float | None = None
    """The bits that the links took in over those that they can carry while their peers are up by the plan;
    None if they have no limit."""
    packets: int = 0
    """The packets that went through links that the kernel limited; 0, which is not written, without any."""
    intervals: list[LinkInterval] = field(default_factory=list)
    """The use in time."""


@dataclass(frozen=True, slots=True)
class BusyRate:
    """The rate that busy links achieved while a fault gave it to them."""

    way: str
    asked_bit_s: int
    achieved_bit_s: float
    busy_s: float
    """The time of all links together in which that was measured."""


def link_reports(
    use: Sequence[LinkUse],
    bandwidth: Bandwidth | None,
    intervals: Sequence[tuple[float, float]],
    seconds: Sequence[Sequence[float]],
) -> list[LinkReport]:
    """Return the reports of links: of the up links of each class, followed by that of its down links; what
    carried and dropped nothing is left out. The peers of each class are up for so many `seconds` of each
    interval."""
    classes = [] if bandwidth is None else bandwidth.all_classes()
    asked = [rate or None for each in classes for rate in (each.up, each.down)]
    found = []
    for index, each in enumerate(use):
        whole, rate, up_s = each.whole(), asked[index], seconds[index >> 1]
        number = len(whole.waits)
        of_messages = not whole.packets
        if not (number or whole.packets or whole.drops):
            continue
        found.append(
            LinkReport(
                index >> 1,
                WAYS[index & 1],
                number if of_messages else None,
                whole.bytes,
                whole.waited_ns * 1e-6 / number if number else None,
                whole.waits.quantile(0.99) * 1e3 if number else None,
                whole.waits.maximum * 1e3 if number else None,
                rate,
                round(whole.busy_bits / whole.busy_s, 1) if whole.busy_s > 0 else None,
                round(whole.busy_s, 6),
                whole.drops,
                _load(whole.bytes, rate, sum(up_s)),
                whole.packets,
                [
                    _interval(part, *bounds, of_messages, _load(part.bytes, rate, up))
                    for part, bounds, up in zip(each.intervals(), intervals, up_s, strict=False)
                ],
            )
        )
    return found


def _interval(use: LinkUse, start: float, end: float, of_messages: bool, load: float | None) -> LinkInterval:
    number = len(use.waits)
    mean = round(use.waited_ns * 1e-6 / number, 6) if number else None
    p99 = round(use.waits.quantile(0.99) * 1e3, 6) if number else None
    told = number if of_messages else None
    return LinkInterval(start, end, told, use.bytes, mean, p99, use.drops, load)


def _load(carried: int, rate: int | None, seconds: float) -> float | None:
    """Return the share of what links of a rate (bit/s) can carry in so many seconds that these bytes are."""
    return round(8 * carried / (rate * seconds), 6) if rate and seconds else None


def together(rates: Iterable[BusyRate]) -> list[BusyRate]:
    """Return the rates that several hosts told of one fault as one for each direction."""
    every = list(rates)
    found = []
    for way in WAYS:
        those = [each for each in every if each.way == way]
        if busy_s := sum(each.busy_s for each in those):
            bits = sum(each.achieved_bit_s * each.busy_s for each in those)
            found.append(BusyRate(way, those[0].asked_bit_s, round(bits / busy_s, 1), busy_s))
    return found
