"""The standing of a run, which the results service tells from a run directory and the command shows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from emulator.experiment.file.document import ExperimentError
from emulator.experiment.file.load import load
from emulator.experiment.file.variants import Trial, trials
from emulator.experiment.plan.provenance import differences, listed
from emulator.experiment.run.directory import RunDirectory, TrialDirectory
from emulator.runtime.progress import Progress
from emulator.trials.trial import FINISHED

Labels = Callable[[Sequence[Trial]], Mapping[str, str]]
"""A function that returns the names that a report gives trials, by their own."""
ENDED = (*FINISHED, "failed")
"""The states of a trial that will not run again by itself."""


@dataclass(frozen=True, slots=True)
class TrialStanding:
    """One trial. `state` is as in `status.json`; it is "planned" also for a trial without a directory."""

    trial: str
    state: str = "planned"
    reasons: tuple[str, ...] = ()
    progress: Progress | None = None
    label: str = ""
    """The name that a report gives the trial, "" if that is not told or there is one variant."""


@dataclass(frozen=True, slots=True)
class Standing:
    """All trials of a run in their order, and what has been made of them."""

    experiment: str = ""
    """The name of the experiment, "" until there is a run directory."""
    trials: tuple[TrialStanding, ...] = ()
    analyzed: bool = False
    """Whether there is a summary of the trials as they are now."""
    reported: bool = False
    problem: str = ""
    """Why the run directory cannot be read."""

    @property
    def counts(self) -> dict[str, int]:
        """The number of trials by state."""
        return dict(Counter(trial.state for trial in self.trials))

    @property
    def ended(self) -> bool:
        """Whether every trial has ended, in whatever state."""
        return bool(self.trials) and all(trial.state in ENDED for trial in self.trials)

    def to_json(self) -> str:
        return json.dumps(asdict(self) | {"counts": self.counts, "ended": self.ended})

    @classmethod
    def from_json(cls, text: str | bytes) -> Standing:
        """Read what `to_json` wrote. Raises ValueError for any other text."""
        try:
            fields: dict[str, Any] = json.loads(text)
            told = tuple(_trial(**trial) for trial in fields["trials"])
            names = ("experiment", "analyzed", "reported", "problem")
            return cls(trials=told, **{name: fields[name] for name in names})
        except (KeyError, TypeError) as error:
            raise ValueError(f"is not the standing of a run: {error}") from None


class Reader:
    """Reads the standing of one run again and again, without reading again files that have not changed."""

    def __init__(
        self,
        run: RunDirectory,
        wanted: Path | None = None,
        any_system: bool = False,
        labels: Labels | None = None,
    ) -> None:
        """`wanted` is the file of the experiment that the run must be of, None for any. With `any_system` a
        run may be of a system that is not installed here; without, that is a problem of the run. With
        `labels` trials have the names that a report gives them."""
        self._run = run
        self._wanted = wanted
        self._any_system = any_system
        self._labels_of = labels
        self.refusal = ""
        """Why the run is not the one that is wanted, or ""."""
        self._name = ""
        self._trials: tuple[str, ...] = ()
        self._labels: Mapping[str, str] = {}
        self._experiment_stamp: object = None
        self._known: dict[str, tuple[object, TrialStanding]] = {}

    def read(self) -> Standing:
        """Return the standing now; a run directory that does not exist yet has an empty one."""
        run = self._run
        try:
            if (stamp := _stamp(run.experiment)) != self._experiment_stamp:
                self._name, self._trials, self._labels, self.refusal = "", (), {}, ""
                self._known.clear()
                if stamp:
                    self._read_experiment()
                self._experiment_stamp = stamp
            if self.refusal:
                return Standing(problem=self.refusal)
            standings = tuple(self._read_trial(run.trial(name)) for name in self._trials)
        except (OSError, ExperimentError, ValueError) as error:
            return Standing(experiment=self._name, problem=f"{error}")
        newest = max((_written(run.trial(name).status) for name in self._trials), default=0)
        summary, report = _written(run.summary), _written(run.report)
        analyzed = summary >= newest > 0
        return Standing(self._name, standings, analyzed, reported=analyzed and report >= summary)

    def _read_experiment(self) -> None:
        """Read the experiment of the run. Raises ExperimentError."""
        spec = load(self._run.experiment, check_files=False, check_systems=not self._any_system)
        if self._wanted is not None:
            asked = load(self._wanted, check_files=False)
            if asked != spec:
                found = differences(spec.model_dump(mode="json"), asked.model_dump(mode="json"), added=True)
                self.refusal = (
                    f"the volume holds the run of another experiment than this release's: {listed(found)}. "
                    "Install this one under another name, or delete the volume claim first"
                )
                return
        every = trials(spec)
        self._name, self._trials = spec.name, tuple(trial.name for trial in every)
        self._labels = {} if self._labels_of is None else self._labels_of(every)

    def _read_trial(self, directory: TrialDirectory) -> TrialStanding:
        stamp = _stamp(directory.status)
        known = self._known.get(directory.name)
        if known is not None and known[0] == stamp:
            return known[1]
        status = directory.read_status()
        standing = _trial(
            directory.name,
            status.get("state", "planned"),
            status.get("reasons"),
            status.get("progress"),
            self._labels.get(directory.name, ""),
        )
        self._known[directory.name] = stamp, standing
        return standing


def _trial(
    trial: str,
    state: str,
    reasons: list[str] | None = None,
    progress: dict[str, Any] | None = None,
    label: str = "",
) -> TrialStanding:
    return TrialStanding(trial, state, tuple(reasons or ()), _progress(progress or {}), label)


def _progress(told: dict[str, Any]) -> Progress | None:
    """Return the progress in a trial's status; None if it has none, or that of another version of Trellis."""
    try:
        return Progress(**told)
    except TypeError:
        return None


def _stamp(path: Path) -> object:
    """Return a value that differs between two versions of a file; None if the file does not exist."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _written(path: Path) -> int:
    """Return when the file was written, unix ns; 0 if it does not exist."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0
