"""The results of each variant: means over its seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy.special import stdtrit

from analysis.contract.trials import TrialRecord
from analysis.measures.measure_run import Values
from emulator.files.quantities import parse_duration

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over seeds, with the half width of its 95 % confidence interval (Student's t)."""

    mean: float
    ci95: float | None
    """The half width of the interval; None for a single seed."""
    n: int


@dataclass(frozen=True, slots=True)
class VariantResult:
    """One variant. `values` are the varied keys, `measures` leave out what no trial has."""

    name: str
    values: Mapping[str, Any]
    setting: Mapping[str, Any]
    """The whole resolved spec, as nested plain values."""
    measures: Mapping[str, Estimate]
    trials: Mapping[int, Values]
    """The measures of each seed."""

    def get(self, key: str) -> Any:
        """Return the value at a dotted key of the resolved spec, or None."""
        here: Any = self.setting
        for part in key.split("."):
            if not isinstance(here, Mapping) or part not in here:
                return None
            here = here[part]
        return here

    def seconds(self, key: str) -> float:
        """Return the seconds of the duration at a dotted key. Raises ValueError if there is none."""
        return parse_duration(self.get(key))


def estimate(values: Sequence[float]) -> Estimate:
    """Return the mean and confidence interval of at least one value."""
    n = len(values)
    mean = math.fsum(values) / n
    if n == 1:
        return Estimate(mean, None, 1)
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))
    quantile = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2))
    return Estimate(mean, quantile * deviation / math.sqrt(n), n)


def variant_results(records: Sequence[TrialRecord], measured: Mapping[str, Values]) -> list[VariantResult]:
    """Return the variants in the order of their first trials; trials that were not measured are left out."""
    trials: dict[str, list[TrialRecord]] = {}
    for record in records:
        trials.setdefault(record.variant, []).append(record)
    return [
        VariantResult(
            name=name,
            values=group[0].values,
            setting=group[0].spec.model_dump(mode="json"),
            measures=_estimates([measured[r.name] for r in group if r.name in measured]),
            trials={r.spec.seed: measured[r.name] for r in group if r.name in measured},
        )
        for name, group in trials.items()
    ]


def _estimates(trials: Sequence[Values]) -> dict[str, Estimate]:
    names = dict.fromkeys(name for values in trials for name in values)
    found = {name: [v for values in trials if (v := values.get(name)) is not None] for name in names}
    return {name: estimate(values) for name, values in found.items() if values}
