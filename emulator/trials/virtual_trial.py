"""A trial on the virtual clock, with all that it needs loaded at once: see `emulator.trials.nursery`."""

from __future__ import annotations

import importlib

from emulator.trials.trial import main

__all__ = ["main"]

for _needed in (
    "emulator.experiment.plan.draw_plan",
    "emulator.experiment.plan.provenance",
    "emulator.experiment.plan.tables",
    "emulator.layouts.layout",
    "emulator.runtime.virtual.run_virtual",
    # pyarrow loads these when it first makes an array of Python's objects, and when it first reads a file.
    "pandas",
    "pyarrow.dataset",
):
    importlib.import_module(_needed)
