"""The sections and figures of events, whether they have a topic or values of attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from analysis.charts.chart import Quantity
from analysis.charts.chosen_events import event_trees
from analysis.charts.results import Results
from analysis.contract.figures import Block, Section, SettingLine
from analysis.contract.tables import Table
from analysis.measures.distributions import overhead_histogram
from analysis.report.figures_by_variant import against
from analysis.report.figures_spread import OVERHEAD, Spread, spread
from analysis.report.figures_time import Curve, curve
from analysis.report.setting import part, plain

_PATTERNS = {
    "random": "random topics",
    "low": "topics of low correlation",
    "high": "topics of high correlation",
    "edges": "a follower graph",
}
_OF_EDITORS = {"editors": "editors of an encyclopedia", "editors-file": "editors of articles, from a file"}


def _subscriptions(experiment: Mapping[str, Any]) -> str:
    pattern = part(part(experiment, "workload"), "subscriptions")
    kind = pattern.get("kind")
    if kind is None:
        return ""
    if kind == "ranges":
        return _ranges(pattern)
    if kind in _OF_EDITORS:
        return _OF_EDITORS[kind]
    if "topics" not in pattern and kind not in _PATTERNS:
        return f"{kind}: {plain(pattern.get('per_peer', '?'))} a peer"
    if kind == "edges":
        return f"{_PATTERNS['edges']}, {pattern.get('file', '?')}"
    return (
        f"{_PATTERNS.get(kind, kind)}: {plain(pattern.get('per_peer', 50))} of "
        f"{plain(pattern.get('topics', 5000))} topics a peer"
    )


def _ranges(pattern: Mapping[str, Any]) -> str:
    names = ", ".join(str(attribute.get("name")) for attribute in pattern.get("attributes", []))
    within = str(pattern.get("within", "0 s"))
    when = (
        "held from the joins on" if within.split()[0] in ("0", "0.0") else f"within {within} after the joins"
    )
    return f"ranges of {names}: {plain(pattern.get('per_peer', 5))} a peer on average, {when}"


def _publications(experiment: Mapping[str, Any]) -> str:
    publications = part(part(experiment, "workload"), "publications")
    if not publications:
        return ""
    rates = part(publications, "rates")
    spread = (
        f", rates by a power law (alpha {rates.get('alpha')})" if rates.get("kind") == "power-law" else ""
    )
    size = plain(publications.get("payload_bytes", 256))
    return f"{plain(publications.get('events', '?'))} events of {size} bytes{spread}"


def _tree(results: Results) -> Iterator[Block | None]:
    yield from event_trees(results)


OVERHEAD_HISTOGRAM: Final = Table(
    "overhead_histogram",
    "Peers by the share of unwanted copies of events; `docs/tables.md` describes the columns.",
    "trial string, low double, high double, peers bigint, share double, above double",
    ("low",),
    overhead_histogram,
)
SUBSCRIPTIONS: Final = SettingLine(
    "Subscriptions", ("workload.subscriptions", "workload.changes"), _subscriptions
)
PUBLICATIONS: Final = SettingLine("Publications", ("workload.publications",), _publications)
TREE: Final = Section("One event, hop by hop", _tree, "One event", "tree")
EVENT_FIGURES: Final = (
    *map(against, ("hit_ratio", "overhead", "delay_hops", "delay_ms")),
    OVERHEAD,
    spread(
        Spread(
            "delay-ms", "Delay of deliveries",
            "The share of deliveries made within a time after publication. Further left is faster.",
            Quantity("time from publication to delivery", "ms"), "deliveries", ("publish", "ms"),
            shares={"delay_within_400_ms": 400.0, "delay_within_1_s": 1000.0},
        )
    ),
    spread(
        Spread(
            "delay-hops", "Hops of deliveries",
            "The share of deliveries that took a number of overlay hops.",
            Quantity("hops"), "deliveries", ("publish", "hops"), counted=True,
        )
    ),
    curve(
        Curve(
            "hit_ratio", "time-hit", "Hit ratio in time",
            "Deliveries made of those expected, by the time of publication.", Quantity("hit ratio", "share"),
            from_zero=False,
        )
    ),
    curve(
        Curve(
            "overhead", "time-overhead", "Traffic overhead in time",
            "The share of received events that the receiver had not asked for.",
            Quantity("overhead", "share"),
        )
    ),
    curve(
        Curve(
            "delay_ms", "time-delay", "Delay in time", "Mean time from publication to delivery.",
            Quantity("delay", "ms"),
        )
    ),
)  # fmt: skip
