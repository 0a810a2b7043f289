"""This module shows many variants, for which one drawing has no room, by what was varied.

A chart of more than six series becomes small multiples: colours are systems, dashes another key, panels the
rest. If there is no rest, the chart is drawn whole. Where two more keys have three values or more, measures
are heat maps.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any, Final

from analysis.charts.chart import SHOWN_AT_FIRST, LineChart, with_all_lines
from analysis.charts.heat_map import HeatMap, heat_map
from analysis.charts.panels import Panels, Style, panels
from analysis.charts.results import Results, key_label, value_label, values_label, varied_keys
from analysis.contract.figures import Chart
from analysis.report.drawn_variants import drawn_variants

SYSTEM: Final = "system.name"
_PART: Final = ": "
"""The sign between the label of a variant and the name of its part."""
_MOST_COLOURS: Final = 8
_MOST_DASHES: Final = 4
_MANY_VALUES: Final = 3
"""The least number of values of each key of a heat map."""


def shown_by_what_is_varied(results: Results, charts: Sequence[Chart]) -> list[Chart | Panels | HeatMap]:
    """Return charts as the page shows them."""
    if len(results.variants) <= SHOWN_AT_FIRST:
        return list(charts)
    keys = independent_keys(results.variants)
    return [_shown(results, chart, keys) for chart in charts]


def independent_keys(variants: Sequence[Mapping[str, Any]], among: Sequence[str] | None = None) -> list[str]:
    """Return the varied keys, or those `among` in their order, without those that the ones before them
    determine, such as where keys are varied together."""
    kept: list[str] = []
    for key in varied_keys(variants) if among is None else among:
        if len(_combinations(variants, [*kept, key])) > len(_combinations(variants, kept)):
            kept.append(key)
    return kept


def _combinations(variants: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> set[tuple[str, ...]]:
    return {tuple(repr(variant["values"].get(key)) for key in keys) for variant in variants}


def colour_key(variants: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> str | None:
    """Return the key whose values have colours: the system, or the one with the fewest values."""
    few = [key for key in keys if len(_values(variants, key)) <= _MOST_COLOURS]
    if SYSTEM in few:
        return SYSTEM
    return min(few, key=lambda key: len(_values(variants, key)), default=None) if len(keys) > 1 else None


def _shown(results: Results, chart: Chart, keys: list[str]) -> Chart | Panels | HeatMap:
    measure = chart.name.removeprefix("sweep-")
    crowded = not isinstance(chart, LineChart) or len(chart.series) > SHOWN_AT_FIRST
    if measure != chart.name and measure in results.measures and crowded:
        by_two = _heat_map(results, chart, measure, keys)
        if by_two is not None:
            return by_two
    if not isinstance(chart, LineChart) or len(chart.series) <= SHOWN_AT_FIRST:
        return chart
    places = _places(results.variants, [one.label for one in chart.series], keys)
    if not places:
        return chart
    return panels(chart, places) if any(title for title, _ in places) else with_all_lines(chart)


def _places(
    variants: Sequence[Mapping[str, Any]], labels: Sequence[str], keys: Sequence[str]
) -> list[tuple[str, Style]]:
    """Return the panel and the style of each series; none if a label is not that of a variant, or of the
    variants that differ only in the key of the axis.

    The label of a part of a variant is that of the variant, a colon and the name of the part.
    """
    for of_series in ([*keys], *([key for key in keys if key != axis] for axis in keys)):
        every = varied_keys(variants) if len(of_series) == len(keys) else of_series
        by_label = {values_label(v["values"], every): v["values"] for v in variants}
        found = [known for label in labels if (known := _known(label, by_label)) is not None]
        if len(found) == len(labels):
            return _styled([(by_label[label], part) for label, part in found], variants, of_series)
    return []


def _known(label: str, by_label: Container[str]) -> tuple[str, str] | None:
    """Return the variant of a label and the name of its part, "" if it has none; None if it is unknown."""
    if label in by_label:
        return label, ""
    cuts = [at for at in range(len(label)) if label.startswith(_PART, at) and label[:at] in by_label]
    return (label[: cuts[-1]], label[cuts[-1] + len(_PART) :]) if cuts else None


def _styled(
    of_series: Sequence[tuple[Mapping[str, Any], str]],
    variants: Sequence[Mapping[str, Any]],
    keys: Sequence[str],
) -> list[tuple[str, Style]]:
    """Return the panel and the style of each series, by its values and its part.

    Parts have the dashes if there are few of them and a key has the panels, else panels of their own. All
    titles are empty where colours tell all series apart.
    """
    colour = colour_key(variants, keys)
    parts = list(dict.fromkeys(part for _, part in of_series))
    dashed_parts = 1 < len(parts) <= _MOST_DASHES and keys != [colour]
    rest = sorted((key for key in keys if key != colour), key=lambda key: -len(_values(variants, key)))
    few = len(rest) > 1 and len(_values(variants, rest[1])) <= _MOST_DASHES
    dash = rest[1] if few and not dashed_parts else None
    by_panel = [key for key in keys if key not in (colour, dash)]
    colours, dashes = (_values(variants, key) if key else [""] for key in (colour, dash))
    styled = [key for key in (colour, dash) if key is not None]
    return [
        (
            _joined(values_label(values, by_panel), "" if dashed_parts else part),
            Style(
                _joined(values_label(values, styled), part if dashed_parts else ""),
                colours.index(repr(values.get(colour))) if colour else 0,
                parts.index(part) if dashed_parts else dashes.index(repr(values.get(dash))) if dash else 0,
            ),
        )
        for values, part in of_series
    ]


def _joined(label: str, part: str) -> str:
    return _PART.join(text for text in (label, part) if text)


def _heat_map(results: Results, chart: Chart, measure: str, keys: Sequence[str]) -> HeatMap | None:
    """Return a measure by the two keys with the most values.

    None if either has too few of them, or few of the cells have a value, such as where one key after the
    other was varied.
    """
    variants = results.variants
    others = [key for key in keys if key != SYSTEM]
    by_count = sorted(others if len(others) > 1 else keys, key=lambda key: -len(_values(variants, key)))[:2]
    if len(by_count) < 2 or len(_values(variants, by_count[1])) < _MANY_VALUES:
        return None
    row, column = by_count
    rest = [key for key in keys if key not in by_count]
    values = {}
    for variant in variants:
        found = variant["measures"].get(measure)
        if found and found["mean"] is not None:
            of = variant["values"]
            values[values_label(of, rest), _plain(row, of), _plain(column, of)] = found["mean"], found["ci95"]
    grids, rows, columns = (len({at[i] for at in values}) for i in range(3))
    if min(rows, columns) < 2 or 2 * len(values) < grids * rows * columns:
        return None
    of_all = chart.about.removesuffix(drawn_variants(results).told).strip()
    halves = any(half is not None for _, half in values.values())
    with_halves = ", with the half width of their 95 % confidence interval" if halves else ""
    about = f"{of_all} Cells are means over the seeds{with_halves}."
    unit = results.measures[measure]["unit"]
    names = (key_label(row), key_label(column))
    return heat_map(chart.name, chart.title, about, unit, names, values, (row, column))


def _plain(key: str, values: Mapping[str, Any]) -> str:
    """Return the value at a key in words, without the name of the key."""
    return value_label(key, values.get(key)).removeprefix(f"{key_label(key)} ") or "defaults"


def _values(variants: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    return list(dict.fromkeys(repr(variant["values"].get(key)) for variant in variants))
