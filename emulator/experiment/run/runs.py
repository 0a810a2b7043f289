"""Makes run directories and opens them again."""

from __future__ import annotations

import errno
import itertools
from datetime import datetime
from pathlib import Path

from emulator.experiment.file.load import load
from emulator.experiment.file.resolved import resolved_yaml
from emulator.experiment.file.spec import ExperimentSpec
from emulator.experiment.file.variants import trials
from emulator.experiment.run.directory import RunDirectory, write_whole


class NoRun(Exception):
    """The folder that was named is not a run directory, or not the one that is needed."""


def create_run(spec: ExperimentSpec, out: Path) -> RunDirectory:
    """Make a new `<out>/<experiment>-<time>` with its resolved `experiment.yaml`. Raises OSError."""
    return make_run(spec, new_folder(spec.name, out))


def new_folder(experiment: str, out: Path) -> Path:
    """Make an empty `<out>/<experiment>-<time>` that nobody else has. Raises OSError."""
    if out.parts and out.parts[0].startswith("~"):
        text = "~ is the shell's word for a home, and it did not replace it. Write the path out"
        raise OSError(errno.EINVAL, text, str(out))
    out.mkdir(parents=True, exist_ok=True)
    name = f"{experiment}-{datetime.now():%Y%m%d-%H%M%S}"
    for number in itertools.count(1):
        path = out / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir()
            return path
        except FileExistsError:
            continue
    raise AssertionError


def make_run(spec: ExperimentSpec, path: Path) -> RunDirectory:
    """Make this folder a run directory. Raises OSError."""
    path.mkdir(parents=True, exist_ok=True)
    run = RunDirectory(path)
    write_whole(run.experiment, resolved_yaml(spec))
    return run


def open_run(path: Path) -> tuple[RunDirectory, ExperimentSpec]:
    """Return an existing run directory, wherever it is now, and its experiment.

    Raises NoRun, also if its `experiment.yaml` is not what its plans were drawn from, and ExperimentError.
    """
    run = RunDirectory(path)
    if path.is_file():
        raise NoRun(f"{path} is not a run directory: it is a file. Name the run directory")
    if not run.experiment.is_file():
        what = "it has no experiment.yaml" if path.is_dir() else "there is no such folder"
        raise NoRun(
            f"{path} is not a run directory: {what}. Name a folder such as runs/quickstart-20260131-120000"
        )
    spec = load(run.experiment, check_files=False, check_systems=False)
    check_plans(run, spec)
    return run, spec


def check_plans(run: RunDirectory, spec: ExperimentSpec) -> None:
    """Check the plans of a run. Raises NoRun if one was drawn from another experiment than the run directory
    now has."""
    from emulator.experiment.plan.provenance import OtherPlan, check_spec, differences_from, listed

    every = {trial.name: trial.spec for trial in trials(spec)}
    try:
        for directory in run.trials():
            if directory.name in every:
                check_spec(every[directory.name], directory.plan)
            elif nearest := min((differences_from(one, directory.plan) for one in every.values()), key=len):
                raise OtherPlan(listed(nearest))
    except OtherPlan as error:
        raise NoRun(
            f"{run.experiment} is not what the trial {directory.name} was planned from: {error}. "
            f"Put it back as it was, or run what it is now as a new run: trellis run {run.experiment}"
        ) from None


def take_up(path: Path, spec: ExperimentSpec, file: Path) -> RunDirectory:
    """Return the run directory in this folder, or a new one. Raises NoRun if it is that of another
    experiment."""
    if not RunDirectory(path).experiment.exists():
        return make_run(spec, path)
    run, there = open_run(path)
    check_same(run, there, spec, file)
    return run


def check_same(run: RunDirectory, there: ExperimentSpec, given: ExperimentSpec, file: Path) -> None:
    """Check that a run was made from the experiment that the file describes now. Raises NoRun if it
    was not."""
    from emulator.experiment.plan.provenance import differences, listed

    old, new = there.model_dump(mode="json"), given.model_dump(mode="json")
    if old != new:
        raise NoRun(
            f"{run.path} was made from another experiment than {file}: "
            f"{listed(differences(old, new, added=True))}. "
            f"Start a new run, or resume it as it is: trellis run {run.path}"
        )


def command_of(run: RunDirectory, command: str) -> str:
    """Return the command that made the run: what its trials remember, else `command`."""
    return next(
        (str(told) for trial in run.trials() if (told := trial.read_status().get("command"))), command
    )
