"""The names that variants have in a report, for what is said before there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emulator.experiment.file.variants import Trial


def labels_of(trials: Sequence[Trial]) -> dict[str, str]:
    """Return the name in a report of each variant of these trials, by its own name, in their order; none if
    there is one variant."""
    from analysis.charts.results import variant_labels

    variants = {trial.variant.name: trial.variant.values for trial in trials}
    if len(variants) < 2:
        return {}
    return variant_labels([{"variant": name, "values": values} for name, values in variants.items()])
