"""Experiments, which are loaded, changed and run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulator.experiment.file.load import load as load_spec
from emulator.experiment.file.package_experiments import locate
from emulator.experiment.file.spec import ExperimentSpec
from emulator.experiment.file.variants import trials
from emulator.experiment.run.runs import create_run
from emulator.trials.sweep import Update, default_jobs, run_sweep
from trellis.checked_expectations import check_expectations

if TYPE_CHECKING:
    from trellis.run import Run


@dataclass(frozen=True)
class Experiment:
    """An experiment file with changes, checked whole. It is never changed: `with_` makes another one."""

    file: Path
    spec: ExperimentSpec
    """The resolved spec: the file with the changes and every default."""
    changes: tuple[str, ...] = ()
    """The changes, each as `key=value` as for `trellis run --set`."""

    def with_(self, changes: Mapping[str, Any] | None = None, **keys: Any) -> Experiment:
        """Return the experiment with other values: `with_(peers=300)`, `with_({"system.parameters.friends":
        4})`.

        A key that the file varies is no longer varied; `{"vary.peers": [100, 200]}` varies one. Durations
        have their unit, such as "30 s". Raises emulator.experiment.file.document.ExperimentError with all
        that is wrong.
        """
        added = [f"{key}={json.dumps(value)}" for key, value in {**(changes or {}), **keys}.items()]
        options = (*self.changes, *added)
        return replace(self, spec=_checked(self.file, options), changes=options)

    def trials(self) -> list[str]:
        """Return the names of the trials that the experiment makes: each variant with each seed."""
        return [trial.name for trial in trials(self.spec)]

    def run(
        self,
        out: Path | str = "runs",
        jobs: int | None = None,
        report: bool = True,
        watch: Callable[[str], None] = lambda text: None,
    ) -> Run:
        """Run all trials in a new run directory in `out`, analyse them and write the report.

        `jobs` trials run at once, by default as many as the command would run. `watch` is told what happens.
        Trials run in processes of their own, and each imports the systems that it needs. A run that is not
        valid says so in its verdict and raises nothing. Raises ValueError for an experiment that is for pods,
        RuntimeError if Spark cannot start here, and OSError if the run cannot be written.
        """
        from analysis.engine.readiness import why_unable
        from trellis.run import Run

        if any(trial.spec.runtime.kind == "kubernetes" for trial in trials(self.spec)):
            raise ValueError("its hosts are pods. Run it with `trellis run FILE --on kubernetes`")
        if why := why_unable():
            raise RuntimeError(f"the analysis cannot start Spark here: {why}")
        directory = create_run(self.spec, Path(out))

        def tell(update: Update) -> None:
            if update.progress is None:
                watch(f"{update.trial}: {update.state}")

        options = "".join(f" --set '{change}'" for change in self.changes)
        command = f"trellis run {self.file}{options}"
        outcomes = run_sweep(directory, self.spec, jobs or default_jobs(self.spec), tell, command)
        run = Run(directory.path)
        if any(outcome.state != "failed" for outcome in outcomes):
            run.analyze(report=report, watch=watch)
        return run


def load(file: Path | str, **keys: Any) -> Experiment:
    """Return an experiment file, or `package:name.yaml` of an installed package, with the keys changed.

    Raises emulator.experiment.file.document.ExperimentError with all that is wrong, and
    emulator.contract.packages.BadPackage if there is no such package.
    """
    path = locate(Path(file))
    experiment = Experiment(path, _checked(path))
    return experiment.with_(keys) if keys else experiment


def _checked(file: Path, options: tuple[str, ...] = ()) -> ExperimentSpec:
    """Return the resolved spec, of which the expectations are checked, too.

    Those of a campaign are of the trials that it draws.
    """
    spec = load_spec(file, options)
    if not spec.draw:
        check_expectations(spec, file, options)
    return spec
