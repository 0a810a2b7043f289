"""The names that variants have in a report, for what is said before there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emulator.experiment.file.variants import Trial


def labels_of(trials: Sequence[Trial]) -> dict[str, str]:
    """Return the name in a report of each variant of these trials, by its own name, in their order; none if
    there is one variant."""
    from analysis.charts.results import variant_labels

    variants = _variants(trials)
    return variant_labels(variants) if len(variants) > 1 else {}


def trial_labels_of(trials: Sequence[Trial]) -> dict[str, str]:
    """Return the name in a report of each of these trials, by its own name; none if there is one variant."""
    from analysis.charts.results import trial_labels

    variants = _variants(trials)
    told = [{"trial": trial.name, "variant": trial.variant.name, "seed": trial.spec.seed} for trial in trials]
    return trial_labels({"variants": variants, "trials": told}) if len(variants) > 1 else {}


def _variants(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """Return the variants of trials in their order, as a summary has them."""
    values = {trial.variant.name: trial.variant.values for trial in trials}
    return [{"variant": name, "values": each} for name, each in values.items()]
