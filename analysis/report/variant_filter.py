"""The filter of a sweep's page: what its script needs to show only variants with chosen values.

The page is complete without it. The script finds what is about a variant by the variant's name, so figures
and tables of packages are filtered like Trellis' own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

from analysis.charts.numerals import shown, shown_unit
from analysis.charts.results import Results, key_label, value_label, values_label, varied_keys
from analysis.report.between import Difference, Pairing
from analysis.report.by_what_is_varied import independent_keys
from analysis.report.drawn_variants import MOST, drawn_variants
from analysis.report.outcome import verb, way

LEAST_VARIANTS: Final = 3
"""The least number of variants of a page that has a filter."""
_ANY: Final = -1
"""The number that stands for any value of a key."""

Place = tuple[int, ...]
"""The number of the value of each key, or `_ANY`."""


def variant_filter(
    results: Results,
    order: Sequence[str],
    pairs: Sequence[tuple[Pairing, Sequence[Difference]]],
    told: Sequence[str],
) -> dict[str, Any] | None:
    """Return the content of the filter, None for a run of few variants.

    `order` names the measures of which sentences tell, `told` those of the tables of lowest and highest
    values.
    """
    variants = results.variants
    keys = independent_keys(variants)
    if len(variants) < LEAST_VARIANTS or not keys:
        return None
    values = {
        key: list(dict.fromkeys(repr(variant["values"].get(key)) for variant in variants)) for key in keys
    }
    places = {v["variant"]: _place(v["values"], keys, values) for v in variants}
    titles = list(dict.fromkeys(each.title for _, differences in pairs for each in differences))
    number = {variant["variant"]: i for i, variant in enumerate(variants)}
    return {
        "keys": [
            {"key": key, "label": label, "values": _in_words(variants, key)}
            for key, label in zip(keys, _key_labels(keys), strict=True)
        ],
        "variants": [[name, results.labels[name], place] for name, place in places.items()],
        "labels": _places_of_labels(variants, keys, values),
        "drawn": [number[name] for name in drawn_variants(results).names],
        "most_drawn": MOST,
        "sentences": list(order),
        "measures": {name: _measure(results, name) for name in dict.fromkeys([*order, *told])},
        "titles": titles,
        "pairs": [
            [pair.other, pair.base, number[pair.variants[1]], number[pair.variants[0]],
             *_told(differences, titles), pair.seeds]
            for pair, differences in pairs
        ],
    }  # fmt: skip


def _place(values: Mapping[str, Any], keys: Sequence[str], known: Mapping[str, Sequence[str]]) -> Place:
    return tuple(known[key].index(repr(values.get(key))) for key in keys)


def _in_words(variants: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    """Return the values of a key in words, without the name of the key where they say enough."""
    distinct = {repr(value): value for value in (variant["values"].get(key) for variant in variants)}
    named = (value_label(key, value).removeprefix(f"{key_label(key)} ") for value in distinct.values())
    return [text or "defaults" for text in named]


def _key_labels(keys: Sequence[str]) -> list[str]:
    """Return the names of keys; keys of the same name are written out."""
    names = [key_label(key) for key in keys]
    return [name if names.count(name) == 1 else key for key, name in zip(keys, names, strict=True)]


def _places_of_labels(
    variants: Sequence[Mapping[str, Any]], keys: Sequence[str], known: Mapping[str, Sequence[str]]
) -> dict[str, Place]:
    """Return which values a name stands for, for all names that figures and tables give: of variants, of
    variants without the key of an axis or of two, and of a value alone. A name with two meanings is left
    out."""
    found: dict[str, Place] = {}
    ambiguous = set[str]()
    for of_label in _parts(varied_keys(variants), keys):
        chosen = [key for key in keys if key in of_label]
        for values in {_place(v["values"], chosen, known): v["values"] for v in variants}.values():
            label = values_label(values, of_label)
            place = tuple(known[key].index(repr(values.get(key))) if key in chosen else _ANY for key in keys)
            if found.setdefault(label, place) != place:
                ambiguous.add(label)
    return {label: place for label, place in found.items() if label not in ambiguous}


def _parts(varied: Sequence[str], independent: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the keys whose values make up a name."""
    for keys in dict.fromkeys((tuple(varied), tuple(independent))):
        yield keys
        for left_out in (1, 2):
            for without in combinations(keys, left_out):
                if len(keys) > left_out:
                    yield [key for key in keys if key not in without]
    for key in independent:
        yield [key]


def _measure(results: Results, name: str) -> dict[str, Any]:
    """Return a measure with its mean in each variant and the half widths of their intervals, on the scale on
    which it is shown. What no variant has is left empty."""
    about = results.measures[name]
    found = [variant["measures"].get(name) or {} for variant in results.variants]
    seeds = [results.of_seeds(variant, name) for variant in results.variants]
    halves = [_rounded(of.get("ci95"), about["unit"], 4) for of in found]
    return {
        "title": about["title"],
        "verb": verb(about["title"]),
        "unit": shown_unit(about["unit"]),
        "seeds": seeds if any(seeds) else [],
        "means": [_rounded(of.get("mean"), about["unit"], 6) for of in found],
        "halves": halves if any(half is not None for half in halves) else [],
    }


def _rounded(value: float | None, unit: str, digits: int) -> float | None:
    return None if value is None else float(f"{shown(value, unit):.{digits}g}")


def _told(
    differences: Sequence[Difference], titles: Sequence[str]
) -> tuple[list[str | None], list[str | None]]:
    """Return the verdict and the amount of the difference of each title."""
    by_title = {each.title: each for each in differences}
    found = [by_title.get(title) for title in titles]
    verdicts = [None if each is None else way(each) for each in found]
    return verdicts, [None if each is None else each.amount for each in found]
