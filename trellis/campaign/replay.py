"""Runs one trial again, and says which of its expectations it does not meet."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from analysis.expectations import misfits
from emulator.experiment.file.document import ExperimentError
from emulator.experiment.file.load import load
from emulator.experiment.file.spec import ExperimentSpec
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.runs import make_run
from emulator.files.yaml_text import write_yaml
from emulator.trials.sweep import run_sweep

Judge = Callable[[RunDirectory], Mapping[str, Any]]
"""A function that judges a run by its expectations and returns its summary."""


def experiment_text(name: str, title: str, expectation: str, values: Mapping[str, Any]) -> str:
    """Return an experiment file that runs a trial with these values and expects this of it."""
    held = (values.get("invariants") or {}).get("hold") or []
    expects = {} if expectation in held else {"expect": [expectation]}
    return write_yaml({"name": name, "title": title, **expects, **values})


class Replay:
    """Runs trials in a folder that is removed afterwards."""

    def __init__(self, judge: Judge) -> None:
        """`judge` is called where an expectation is about a measure."""
        self._judge = judge

    def fails(self, expectation: str, values: Mapping[str, Any], is_invariant: bool) -> bool:
        """Return whether a trial with these values can be run, is valid, and does not meet the expectation.

        `is_invariant` says that it is the text of an invariant, and not of a condition on a measure.
        """
        if is_invariant:
            values = {**values, "invariants": {**values["invariants"], "hold": [expectation]}}
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "smaller.yaml"
            file.write_text(experiment_text("smaller", "", expectation, values))
            try:
                spec = load(file)
            except ExperimentError:
                return False
            if misfits(spec):
                return False
            return self._broken(make_run(spec, Path(folder) / "run"), spec, expectation, is_invariant)

    def _broken(self, run: RunDirectory, spec: ExperimentSpec, expectation: str, is_invariant: bool) -> bool:
        (outcome,) = run_sweep(run, spec, 1, lambda update: None)
        if outcome.state == "failed":
            return False
        if is_invariant:
            found = run.trial(outcome.trial).read_invariants()
            return any(each["invariant"] == expectation for each in found.get("broken", ()))
        if outcome.state != "valid":
            return False
        expected = self._judge(run).get("expectations", [])
        return any(
            each["text"] == expectation and any(one["measured"] is not None for one in each["broken"])
            for each in expected
        )
