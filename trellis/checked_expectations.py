"""The check of what an experiment expects, which needs to know the measures of the analysis."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emulator.experiment.file.spec import ExperimentSpec


def check_expectations(spec: ExperimentSpec, file: Path, options: Sequence[str]) -> None:
    """Raises ExperimentError for expectations of measures that no trial will have, or in another unit."""
    if not spec.expect:
        return
    from analysis.expectations import misfits
    from emulator.experiment.file.document import ExperimentError
    from emulator.experiment.file.refusals import Refusals

    if found := misfits(spec):
        refusals = Refusals(file, options)
        raise ExperimentError([refusals.problem(f"expect.{index}", text) for index, text in found.items()])
