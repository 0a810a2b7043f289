"""The values of the measures of which an experiment expects something."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.charts.numerals import number, quantity, shown


def measured_text(outcome: Mapping[str, Any]) -> str:
    """Return the value of an expectation's measure in words: that of the trial, or the least, the largest and
    the mean of all trials. Empty if there is none, as for invariants, and if all trials are named because
    they broke it."""
    if len(outcome["broken"]) == outcome["trials"]:
        return ""
    values = [value for value in outcome.get("measured", {}).values() if value is not None]
    unit = outcome["unit"]
    if not values:
        return ""
    if min(values) == max(values):
        return quantity(values[0], unit)
    least, mean = (number(shown(value, unit)) for value in (min(values), sum(values) / len(values)))
    return f"{least} to {quantity(max(values), unit)}, mean {mean}"
