"""Runs one trial again, and says whether it fails as the campaign's did."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.expectations import misfits
from emulator.experiment.file.document import ExperimentError
from emulator.experiment.file.load import load
from emulator.experiment.file.spec import ExperimentSpec, TrialSpec
from emulator.experiment.file.variants import Trial
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.undrawable import Undrawable
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.runs import make_run
from emulator.files.yaml_text import write_yaml
from emulator.trials.sweep import run_sweep

Judge = Callable[[RunDirectory], Mapping[str, Any]]
"""A function that judges a run by its expectations and returns its summary."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A trial failed an expectation, and a smaller trial has to fail it, too."""

    text: str
    """The expectation: a condition on a measure, or an invariant."""
    is_invariant: bool
    calm_until: float = 0.0
    """The trial time (s) before which the invariant held: until the first fault began. So a smaller trial
    that breaks it sooner, such as one that had no time to settle, has failed otherwise."""

    @classmethod
    def of_invariant(cls, text: str, run: RunDirectory, trial: Trial) -> Failure:
        """Return the failure of a trial that broke an invariant. Raises DamagedFile."""
        onset = _onset(trial.spec)
        broke = _first_broken(run, trial.name, text)
        return cls(text, True, onset if broke is not None and onset <= broke else 0.0)


def experiment_text(
    name: str, title: str, failure: Failure, values: Mapping[str, Any], to_its_end: bool = False
) -> str:
    """Return an experiment file of a trial with these values that expects nothing but what it does not meet.

    A trial that breaks an invariant ends then, unless it is to be run `to_its_end`.
    """
    if not failure.is_invariant:
        return write_yaml(
            {"name": name, "title": title, "expect": [failure.text], **values, "invariants": None}
        )
    invariants = {**values["invariants"], "hold": [failure.text], "stop": not to_its_end}
    return write_yaml({"name": name, "title": title, **values, "invariants": invariants})


class Replay:
    """Runs trials in a folder that is removed afterwards."""

    def __init__(self, judge: Judge) -> None:
        """`judge` is called where an expectation is about a measure."""
        self._judge = judge

    def fails(self, failure: Failure, values: Mapping[str, Any]) -> bool | None:
        """Return whether a valid trial with these values fails in this way; None if there is none."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "smaller.yaml"
            file.write_text(experiment_text("smaller", "", failure, values))
            try:
                spec = load(file)
                if misfits(spec):
                    return None
                draw_plan(spec)
            except (ExperimentError, Undrawable):
                return None
            return self._fails(make_run(spec, Path(folder) / "run"), spec, failure)

    def _fails(self, run: RunDirectory, spec: ExperimentSpec, failure: Failure) -> bool:
        (outcome,) = run_sweep(run, spec, 1, lambda update: None)
        if outcome.state == "failed":
            return False
        if failure.is_invariant:
            broke = _first_broken(run, outcome.trial, failure.text)
            return broke is not None and broke >= min(failure.calm_until, _onset(spec))
        if outcome.state != "valid":
            return False
        expected = self._judge(run).get("expectations", [])
        return any(
            each["text"] == failure.text and any(one["measured"] is not None for one in each["broken"])
            for each in expected
        )


def _first_broken(run: RunDirectory, trial: str, invariant: str) -> float | None:
    """Return the trial time (s) at which the invariant was found broken first. Raises DamagedFile."""
    found = run.trial(trial).read_invariants().get("broken", ())
    return min((float(each["at_s"]) for each in found if each["invariant"] == invariant), default=None)


def _onset(spec: TrialSpec) -> float:
    """Return the trial time (s) at which the first fault, crash, flash crowd or attack begins; infinite if
    there is none."""
    churn, attackers = spec.churn, spec.attackers
    begins = [fault.begins for fault in spec.faults]
    begins += [each.at for each in (churn.crash, churn.flash_crowd) if each is not None]
    begins += [attackers.begins] if attackers is not None else []
    return min(begins, default=math.inf)
