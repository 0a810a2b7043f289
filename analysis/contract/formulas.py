"""Formulas of measures: one for the mean, the quantiles and the extremes of a quantity."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from analysis.contract.measures import Measure

_STATISTICS: Final = {
    "": "mean",
    "_median": "median",
    "_max": "maximum",
    "_min": "minimum",
    "_sd": "standard deviation",
    "_top_20": "mean of the 20 largest",
}
"""The statistics that ends of names stand for."""
_PERCENTILE: Final = re.compile(r"_p(\d+)")


def defined(formulas: Mapping[str, str], measures: Mapping[str, Measure]) -> dict[str, Measure]:
    """Return the measures with their formulas.

    A key is the name of a measure, or the beginning of names and `*`: its formula is that of all measures
    whose names go on with `_median`, `_p99`, `_max`, `_min`, `_sd`, `_top_20` or nothing, and says
    `{statistic}` where "median", "99th percentile" or, for nothing, "mean" stands. A measure's own name goes
    first. Raises ValueError if a measure has no formula, or a formula no measure.
    """
    found = {name: _formula(name, formulas) for name in measures}
    if missing := [name for name, (_, formula) in found.items() if not formula]:
        raise ValueError(f"no formula for {', '.join(missing)}")
    if unused := set(formulas) - {key for key, _ in found.values()}:
        raise ValueError(f"no measure for the formulas of {', '.join(sorted(unused))}")
    return {name: replace(measure, formula=found[name][1]) for name, measure in measures.items()}


def _formula(name: str, formulas: Mapping[str, str]) -> tuple[str, str]:
    """Return the key and the formula of a measure, both empty if it has none."""
    if name in formulas:
        return name, formulas[name]
    for key, formula in formulas.items():
        begin = key.removesuffix("*")
        if key != begin and name.startswith(begin) and (statistic := _statistic(name.removeprefix(begin))):
            return key, formula.format(statistic=statistic)
    return "", ""


def _statistic(end: str) -> str:
    """Return the statistic that the end of a name stands for, empty if it stands for none."""
    percentile = _PERCENTILE.fullmatch(end)
    if percentile is None:
        return _STATISTICS.get(end, "")
    return "median" if percentile[1] == "50" else f"{percentile[1]}th percentile"
