"""The analysis of messages for every peer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from analysis.charts.chart import Quantity
from analysis.contract.figures import SettingLine
from analysis.contract.tables import Table
from analysis.contract.workload_analysis import WorkloadAnalysis
from analysis.measures.event_delivery import EVENTS
from analysis.measures.link_graph import LINK_GRAPH
from analysis.measures.of_broadcast import BROADCAST as MEASURES
from analysis.measures.of_gossipsub import GOSSIPSUB
from analysis.report.figures_by_variant import against
from analysis.report.figures_spread import Spread, spread
from analysis.report.figures_time import Curve, curve
from analysis.report.setting import part, plain
from analysis.tables import broadcasts
from analysis.workloads.events import TREE


def _setting(experiment: Mapping[str, Any]) -> str:
    asked = part(part(experiment, "workload"), "broadcast")
    if not asked:
        return ""
    size = part(asked, "bytes")
    least, most = size.get("least", "?"), size.get("most", "?")
    long = plain(least) if least == most else f"{plain(least)} to {plain(most)}"
    senders = asked.get("senders")
    by = "any peer" if senders is None else f"{plain(senders)} peer{'s' if senders != 1 else ''}"
    return f"{plain(asked.get('rate', '?'))} messages a second of {long} bytes, from {by}"


BROADCAST: Final = WorkloadAnalysis(
    interests=broadcasts.interests,
    tables=(
        Table(
            "broadcasts",
            "One row for each message: event, at_s, publisher, payload_bytes, expected (other peers that "
            "were up long enough), reached (of these), delivered (at any peers), copies (payload messages "
            "that peers received), others (other messages of the same traces), redundancy (copies by "
            "delivered, less 1; null if no copy is told of), last_ms, last_hops (of the last delivery at an "
            "expected peer), ms_50, ms_90, ms_99 (until so many percent of the expected peers had it; null "
            "if they never had).",
            broadcasts.BROADCASTS,
            ("event",),
            broadcasts.broadcasts,
        ),
    ),
    measures=(MEASURES, EVENTS, LINK_GRAPH, GOSSIPSUB),
    figures=(
        *map(
            against,
            (
                *("broadcast_reliability", "broadcast_redundancy", "broadcast_control"),
                *("broadcast_last_ms", "broadcast_last_hops", "bytes_per_event"),
            ),
        ),
        spread(
            Spread(
                "broadcast-ms", "Coverage by time",
                "The share of deliveries made within a time after sending. Further left is faster.",
                Quantity("time from sending to delivery", "ms"), "deliveries", ("publish", "ms"),
            )
        ),
        spread(
            Spread(
                "broadcast-hops", "Coverage by hops",
                "The share of deliveries that took a number of overlay hops.",
                Quantity("hops"), "deliveries", ("publish", "hops"), counted=True,
            )
        ),
        curve(
            Curve(
                "hit_ratio", "time-reliability", "Reliability in time",
                "Deliveries made of those expected, by the time of sending.",
                Quantity("reliability", "share"), from_zero=False,
            )
        ),
        curve(
            Curve(
                "delay_ms", "time-broadcast-delay", "Delay in time", "Mean time from sending to delivery.",
                Quantity("delay", "ms"),
            )
        ),
    ),
    sections=(TREE,),
    setting=(SettingLine("Messages", ("workload.broadcast",), _setting),),
)  # fmt: skip
