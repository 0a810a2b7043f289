"""Formulas of measures."""

from __future__ import annotations

import pytest

from analysis.contract.formulas import defined
from analysis.contract.measures import Measure
from analysis.measures.catalogue import own_measures

DELAYS = {
    name: Measure("Delay", "ms", "lower", "") for name in ("delay", "delay_median", "delay_p99", "delay_max")
}


def test_each_measure_of_trellis_has_a_formula() -> None:
    assert [name for name, measure in own_measures().items() if not measure.formula] == []


def test_one_formula_is_that_of_the_mean_the_quantiles_and_the_extremes_of_a_quantity() -> None:
    found = defined({"delay*": "{statistic} over lookups of the delay"}, DELAYS)
    assert [measure.formula for measure in found.values()] == [
        "mean over lookups of the delay",
        "median over lookups of the delay",
        "99th percentile over lookups of the delay",
        "maximum over lookups of the delay",
    ]


def test_the_formula_of_a_measures_own_name_goes_first() -> None:
    found = defined({"delay*": "{statistic} over lookups", "delay_max": "the longest"}, DELAYS)
    assert found["delay_max"].formula == "the longest"


def test_a_measure_without_a_formula_is_refused() -> None:
    with pytest.raises(ValueError, match="no formula for delay_p99, delay_max"):
        defined({"delay": "mean", "delay_median": "median"}, DELAYS)


def test_a_formula_without_a_measure_is_refused() -> None:
    with pytest.raises(ValueError, match="no measure for the formulas of hops"):
        defined({"delay*": "{statistic}", "hops": "mean"}, DELAYS)
