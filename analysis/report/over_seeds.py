"""Means over the seeds of a variant at each point of a figure, with their confidence intervals."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.charts.chart import Point
from analysis.charts.numerals import estimate as estimate_text
from analysis.charts.numerals import shown_unit
from analysis.charts.results import Results
from analysis.measures.variant_results import estimate
from analysis.report.drawn_variants import drawn_variants

_CURVE_POINTS = 240


def seeds(results: Results) -> Iterator[tuple[str, list[str]]]:
    """Yield the label of each variant that figures show with its trials: those that are valid, or all that
    were measured if none is."""
    by_variant: dict[str, list[Mapping[str, Any]]] = {}
    for trial in results.trials:
        if trial["measures"]:
            by_variant.setdefault(trial["variant"], []).append(trial)
    for name in drawn_variants(results).names:
        measured = by_variant.get(name, [])
        chosen = [t for t in measured if t["valid"]] or measured
        if chosen:
            yield results.labels[name], [t["trial"] for t in chosen]


def told(about: str, results: Results, what: str = "Lines") -> str:
    """Return what a figure is about, with sentences that say which variants it has if not all, and what its
    lines, bars or numbers are if there are several seeds."""
    chosen = drawn_variants(results).told
    several = any(len(trials) > 1 for _, trials in seeds(results))
    means = f"{what} are means over the seeds, with their 95 % confidence intervals." if several else ""
    return " ".join(part for part in (about, chosen, means) if part)


def mean_text(of_seeds: Sequence[float | None], unit: str = "") -> str:
    """Return the mean over the seeds that have a value with its interval and unit, empty if none has one."""
    values = [value for value in of_seeds if value is not None]
    if not values:
        return ""
    found = estimate(values)
    shown = shown_unit(unit)
    return estimate_text(found.mean, found.ci95, unit) + (f"\N{NO-BREAK SPACE}{shown}" if shown else "")


def mean_points(of_seeds: Sequence[Mapping[float, float]], otherwise: float | None = None) -> list[Point]:
    """Return the mean over the seeds at each place that one of them has.

    A seed that has no value at a place counts as `otherwise`, or does not count there if that is None.
    """
    places = sorted({place for values in of_seeds for place in values})
    return [_point(place, [_value(values, place, otherwise) for values in of_seeds]) for place in places]


def mean_curve(of_seeds: Sequence[Sequence[Point]]) -> list[Point]:
    """Return the mean over the seeds of shares that values are at most, at a few hundred values.

    Each seed has its shares in the order of the values. Before its first value its share is 0.
    """
    places = sorted({point.x for points in of_seeds for point in points})
    every = -(-len(places) // _CURVE_POINTS) or 1
    return [
        _point(place, [_share(points, place) for points in of_seeds])
        for place in [*places[:-1:every], *places[-1:]]
    ]


def _point(place: float, values: Sequence[float | None]) -> Point:
    found = estimate([value for value in values if value is not None])
    return Point(place, found.mean, found.ci95)


def _value(values: Mapping[float, float], place: float, otherwise: float | None) -> float | None:
    return values.get(place, otherwise)


def _share(points: Sequence[Point], place: float) -> float:
    index = bisect_right(points, place, key=lambda point: point.x) - 1
    return points[index].y if index >= 0 else 0.0
