"""The figures of a report: which results are drawn, against what, and what each says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from analysis.figures_bars import BarChart, Row, bar_chart
from analysis.figures_chart import LineChart, Mark, Point, Quantity, Series, line_chart
from analysis.results import Results, key_label, value_label, varied_keys
from emulator.quantities import parse_duration

Chart = LineChart | BarChart

COMPARED = ("hit_ratio", "overhead", "delay_hops", "delay_ms")
"""The measures that are drawn against what was varied."""

_CURVE_POINTS = 240


def sweep_charts(results: Results) -> list[Chart]:
    """Hit ratio, overhead and delay against the varied keys; none for a single variant."""
    if len(results.variants) < 2:
        return []
    charts: list[Chart | None] = []
    for measure in COMPARED:
        if measure in results.measures:
            axis = _number_axis(results.variants)
            charts.append(_against(results, measure, axis) if axis else _side_by_side(results, measure))
    return [chart for chart in charts if chart]


def _number_axis(variants: Sequence[Mapping[str, Any]]) -> str | None:
    """The varied key with the most values, if its values are numbers."""
    counts = {}
    for key in varied_keys(variants):
        values = {v["values"].get(key) for v in variants}
        if len(values) > 2 and all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
            counts[key] = len(values)
    return max(counts, key=lambda key: counts[key]) if counts else None


def _against(results: Results, measure: str, axis: str) -> Chart | None:
    about = results.measures[measure]
    others = [key for key in varied_keys(results.variants) if key != axis]
    groups: dict[str, list[Point]] = {}
    for variant in results.variants:
        label = ", ".join(value_label(key, variant["values"].get(key)) for key in others)
        found = variant["measures"].get(measure)
        points = groups.setdefault(label or about["title"], [])
        if found and found["mean"] is not None:
            points.append(Point(variant["values"][axis], found["mean"], found["ci95"]))
    for points in groups.values():
        points.sort(key=lambda p: p.x)
    return line_chart(
        f"sweep-{measure}", about["title"], _meaning(about), Quantity(key_label(axis)),
        Quantity(about["title"], about["unit"]), [Series(k, v) for k, v in groups.items()],
        from_zero=measure != "hit_ratio",
        x_text=lambda x: value_label(axis, x),
    )  # fmt: skip


def _side_by_side(results: Results, measure: str) -> Chart | None:
    about = results.measures[measure]
    rows = [
        Row(results.labels[v["variant"]], [found["mean"]], found["ci95"])
        for v in results.variants
        if (found := v["measures"].get(measure)) and found["mean"] is not None
    ]
    quantity = Quantity(about["title"], about["unit"])
    return bar_chart(f"sweep-{measure}", about["title"], _meaning(about), quantity, [about["title"]], rows)


def _meaning(about: Mapping[str, Any]) -> str:
    better = {"lower": " Lower is better.", "higher": " Higher is better."}
    return str(about.get("about") or "") + better.get(about.get("better") or "", "")


def distribution_charts(results: Results) -> list[Chart]:
    """How overhead spreads over the peers, and delay over the deliveries; one trial of each variant."""
    above, in_ms, in_hops = [], [], []
    for label, trial in _shown(results):
        classes = results.table("overhead_histogram", trial)
        if classes is not None:
            rows = sorted(classes.to_pylist(), key=lambda row: row["low"])
            above.append(Series(label, [Point(row["low"], row["above"]) for row in rows]))
        delays = results.table("delay_cdf", trial)
        if delays is not None:
            curves: dict[str, list[Point]] = {"hops": [], "ms": []}
            for row in sorted(delays.to_pylist(), key=lambda row: row["value"]):
                curves[row["unit"]].append(Point(row["value"], row["share"]))
            in_ms.append(Series(label, _thinned(curves["ms"]), curve=True))
            in_hops.append(Series(label, _differences(curves["hops"])))
    peers, made = Quantity("peers", "share"), Quantity("deliveries", "share")
    return _drawn(
        line_chart(
            "overhead-nodes", "Traffic overhead over the peers",
            "How many peers have at least a given share of unwanted events among all that they receive. "
            "A line that falls early means that few peers carry much for others.",
            Quantity("unwanted events that a peer receives, at least", "share"), peers, above,
        ),
        line_chart(
            "delay-ms", "Delay of deliveries",
            "The share of deliveries made within a time after publication. Further left is faster.",
            Quantity("time from publication to delivery", "ms"), made, in_ms,
        ),
        line_chart(
            "delay-hops", "Hops of deliveries",
            "The share of deliveries that took a number of overlay hops.",
            Quantity("hops"), made, in_hops,
        ),
    )  # fmt: skip


def series_charts(results: Results) -> list[Chart]:
    """The measure phase in time: peers up, hit ratio, overhead, delay; one trial of each variant."""
    lines: dict[str, list[Series]] = {"peers_up": [], "hit_ratio": [], "overhead": [], "delay_ms": []}
    for label, trial in _shown(results):
        table = results.table("series", trial)
        rows = [] if table is None else sorted(table.to_pylist(), key=lambda row: row["start_s"])
        for column, series in lines.items():
            points = [
                Point((row["start_s"] + row["end_s"]) / 2, row[column])
                for row in rows
                if row[column] is not None
            ]
            series.append(Series(label, points))
    time = Quantity("trial time", "s")
    marks = _flash_crowd(results.experiment)
    return _drawn(
        line_chart(
            "time-peers", "Peers up", "How many peers were up, on average over each interval.",
            time, Quantity("peers"), lines["peers_up"], marks=marks,
        ),
        line_chart(
            "time-hit", "Hit ratio in time",
            "Deliveries made of those expected, by the time of publication.",
            time, Quantity("hit ratio", "share"), lines["hit_ratio"],
            from_zero=False, marks=marks,
        ),
        line_chart(
            "time-overhead", "Traffic overhead in time",
            "The share of received events that the receiver had not asked for.",
            time, Quantity("overhead", "share"), lines["overhead"], marks=marks,
        ),
        line_chart(
            "time-delay", "Delay in time", "Mean time from publication to delivery.",
            time, Quantity("delay", "ms"), lines["delay_ms"], marks=marks,
        ),
    )  # fmt: skip


def maintenance_chart(results: Results) -> list[Chart]:
    """What peers send to keep the overlay in shape, by message type; one trial of each variant."""
    sent: dict[str, dict[str, float]] = {}
    for label, trial in _shown(results):
        messages, traffic = results.table("messages", trial), results.table("traffic", trial, ["up_s"])
        up_s = 0.0 if traffic is None else sum(traffic["up_s"].to_pylist())
        if messages is None or not up_s:
            continue
        sent[label] = {
            row["message"]: row["bytes"] / up_s
            for row in messages.to_pylist()
            if row["traffic"] == "maintenance"
        }
    kinds = sorted({kind for by_kind in sent.values() for kind in by_kind})
    rows = [Row(label, [by_kind.get(kind, 0.0) for kind in kinds]) for label, by_kind in sent.items()]
    return _drawn(
        bar_chart(
            "maintenance", "Maintenance traffic",
            "Bytes that a peer sends each second, while it is up, to keep the overlay in shape: "
            "by type of message, events not counted.",
            Quantity("sent by a peer", "bytes/s"), kinds, rows if kinds else [],
        )
    )  # fmt: skip


def _shown(results: Results) -> Iterator[tuple[str, str]]:
    """Label and shown trial of each variant."""
    for variant in results.variants:
        trial = results.shown_trials.get(variant["variant"])
        if trial is not None:
            yield results.labels[variant["variant"]], trial


def _flash_crowd(experiment: Mapping[str, Any]) -> list[Mark]:
    crowd = (experiment.get("churn") or {}).get("flash_crowd")
    return [Mark(parse_duration(crowd["at"]), "flash crowd")] if crowd else []


def _thinned(points: list[Point]) -> list[Point]:
    """At most a few hundred points, the last one kept."""
    every = -(-len(points) // _CURVE_POINTS) or 1
    return points[:-1:every] + points[-1:]


def _differences(cumulated: list[Point]) -> list[Point]:
    """The share at each value, from the shares at most that value."""
    start = [Point(0.0, 0.0), *cumulated]
    return [Point(after.x, after.y - before.y) for before, after in pairwise(start)]


def _drawn(*charts: Chart | None) -> list[Chart]:
    return [chart for chart in charts if chart is not None]
