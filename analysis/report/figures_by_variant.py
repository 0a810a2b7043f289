"""Figures that set the variants of a run side by side: their measures, and their costs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.charts.bars import Row, bar_chart
from analysis.charts.chart import SHOWN_AT_FIRST, Point, Quantity, Series, line_chart
from analysis.charts.limits import LimitsOver
from analysis.charts.results import Results, key_label, unit_of, value_label, values_label, varied_keys
from analysis.contract.figures import Chart, Figure
from analysis.measures.variant_results import estimate
from analysis.report.by_what_is_varied import colour_key, independent_keys
from analysis.report.drawn_variants import drawn_variants
from analysis.report.figures_shown import drawn
from analysis.report.over_seeds import seeds, told
from analysis.report.paper_limits import PaperLimits, paper_limits

_DECADES = 30
"""The least ratio of the largest to the smallest value of a logarithmic axis."""


def against(measure: str) -> Figure:
    """Return a figure that sets a measure against what was varied: a number, or the variants side by side.

    It has no chart for a single variant, or if the measure was not asked for.
    """

    def draw(results: Results) -> list[Chart]:
        if len(results.variants) < 2 or measure not in results.measures:
            return []
        axis = _number_axis(results.variants)
        return drawn(_against(results, measure, axis) if axis else _side_by_side(results, measure))

    return Figure(draw, "variants")


def _number_axis(variants: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the varied key with the most values, if its values are numbers."""
    counts = {}
    for key in varied_keys(variants):
        values = [v["values"].get(key) for v in variants]
        if all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
            counts[key] = len(set(values))
    most = max(counts, key=lambda key: counts[key], default=None)
    return most if most is not None and counts[most] > 2 else None


def _against(results: Results, measure: str, axis: str) -> Chart | None:
    about = results.measures[measure]
    others = [key for key in varied_keys(results.variants) if not _follows(results.variants, key, axis)]
    groups: dict[str, list[Point]] = {}
    for variant in results.variants:
        label = values_label(variant["values"], others)
        found = variant["measures"].get(measure)
        points = groups.setdefault(label or about["title"], [])
        if found and found["mean"] is not None:
            points.append(Point(variant["values"][axis], found["mean"], found["ci95"]))
    for points in groups.values():
        points.sort(key=lambda p: p.x)
    of_paper = paper_limits(results, measure)
    xs = [variant["values"][axis] for variant in results.variants]
    return line_chart(
        f"sweep-{measure}", about["title"], _meaning(about),
        Quantity(key_label(axis), unit_of(axis, max(xs))),
        Quantity(about["title"], about["unit"]), [Series(k, v) for k, v in groups.items()],
        from_zero=about["better"] != "higher",
        x_logarithmic=_spans_decades(xs),
        x_text=lambda x: value_label(axis, x),
        limits=[_over(results, each, axis, others, about["title"]) for each in of_paper],
    )  # fmt: skip


def _over(
    results: Results, of_paper: PaperLimits, axis: str, others: Sequence[str], title: str
) -> LimitsOver:
    """Return the limits with the values of the axis, and the series, of the variants that they are about."""
    those = [v["values"] for v in results.variants if v["variant"] in of_paper.variants]
    xs = [values[axis] for values in those]
    labels = frozenset(values_label(values, others) or title for values in those)
    return LimitsOver(of_paper.limits, min(xs), max(xs), labels)


def _follows(variants: Sequence[Mapping[str, Any]], key: str, axis: str) -> bool:
    """Return whether the axis determines the value of a key, such as where both are varied together."""
    pairs = {(v["values"].get(axis), repr(v["values"].get(key))) for v in variants}
    return len(pairs) == len({at for at, _ in pairs})


def _spans_decades(values: Iterable[float]) -> bool:
    """Return whether the values are such as 100, 1,000, 10,000, which a linear axis would crowd at its
    beginning."""
    distinct = sorted(set(values))
    return distinct[0] > 0 and distinct[-1] / distinct[0] >= _DECADES


def _side_by_side(results: Results, measure: str) -> Chart | None:
    about, chosen = results.measures[measure], drawn_variants(results)
    colours, of_paper = _colours(results), paper_limits(results, measure)
    rows = [
        Row(
            results.labels[v["variant"]],
            [found["mean"]],
            found["ci95"],
            colours.get(v["variant"]),
            [each.limits for each in of_paper if v["variant"] in each.variants],
        )
        for v in results.variants
        if v["variant"] in chosen.names
        and (found := v["measures"].get(measure))
        and found["mean"] is not None
    ]
    quantity = Quantity(about["title"], about["unit"])
    text = f"{_meaning(about)} {chosen.told}".strip()
    return bar_chart(f"sweep-{measure}", about["title"], text, quantity, [about["title"]], rows)


def _colours(results: Results) -> dict[str, int]:
    """Return the colour of each variant's bar, that of its system; none for a few variants."""
    keys = independent_keys(results.variants)
    key = colour_key(results.variants, keys)
    if len(results.variants) <= SHOWN_AT_FIRST or key is None:
        return {}
    values = list(dict.fromkeys(repr(v["values"].get(key)) for v in results.variants))
    return {v["variant"]: values.index(repr(v["values"].get(key))) for v in results.variants}


def _meaning(about: Mapping[str, Any]) -> str:
    better = {"lower": " Lower is better.", "higher": " Higher is better."}
    return str(about.get("about") or "") + better.get(about.get("better") or "", "")


def _maintenance_chart(results: Results) -> list[Chart]:
    """Return charts of what peers send to maintain the overlay, by message type: means over the seeds.

    Where such messages are sent on more than one channel, each is shown with its channel.
    """
    sent: dict[str, list[dict[tuple[str, str], float]]] = {}
    for label, trials in seeds(results):
        of_seeds = [by_type for trial in trials if (by_type := _sent(results, trial)) is not None]
        if of_seeds:
            sent[label] = of_seeds
    types = sorted({of_type for of_seeds in sent.values() for by_type in of_seeds for of_type in by_type})
    rows = [_mean_row(label, of_seeds, types) for label, of_seeds in sent.items()]
    channels = {channel for channel, _ in types}
    titles = [f"{channel}: {name}" if channel and len(channels) > 1 else name for channel, name in types]
    return drawn(
        bar_chart(
            "maintenance", "Maintenance traffic",
            told(
                "Bytes that a peer sends each second, while it is up, to keep the overlay in shape: "
                "by channel and type of message, events not counted.",
                results,
                "Bars",
            ),
            Quantity("sent by a peer", "bytes/s"), titles, rows if types else [],
        )
    )  # fmt: skip


def _sent(results: Results, trial: str) -> dict[tuple[str, str], float] | None:
    """Return the bytes of maintenance that a peer of a trial sends each second, by channel and type."""
    messages, traffic = results.table("messages", trial), results.table("traffic", trial, ["up_s"])
    up_s = 0.0 if traffic is None else sum(traffic["up_s"].to_pylist())
    if messages is None or not up_s:
        return None
    return {
        (row["channel"], row["message"]): row["bytes"] / up_s
        for row in messages.to_pylist()
        if row["traffic"] == "maintenance"
    }


def _mean_row(
    label: str, of_seeds: Sequence[Mapping[tuple[str, str], float]], types: Sequence[tuple[str, str]]
) -> Row:
    """Return the bar of a variant: the mean of each type, and the interval of the mean of their sums."""
    parts = [math.fsum(sent.get(of_type, 0.0) for sent in of_seeds) / len(of_seeds) for of_type in types]
    return Row(label, parts, estimate([math.fsum(sent.values()) for sent in of_seeds]).ci95)


MAINTENANCE = Figure(_maintenance_chart)
"""The figure of maintenance traffic, from the table `messages`."""
