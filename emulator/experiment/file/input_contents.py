"""Checks of the contents of the files that an experiment names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from pydantic import BaseModel

from emulator.contract.mistakes import code_of
from emulator.contract.workload import Problems, WorkloadKind
from emulator.experiment.file.explain import Finding
from emulator.experiment.file.spec import TrialSpec
from emulator.files.trace_error import TraceError
from emulator.network.model import JitterModel


class Contents:
    """The problems of files: each model is asked once what is wrong inside its files, whatever variants have
    it."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, tuple[float, ...]], Problems] = {}

    def problems(self, spec: TrialSpec) -> list[Finding]:
        """Return the lines that cannot be read, and the files that are too small for the trial."""
        model, end = spec.churn.model, spec.phases.end
        base = spec.peers - (spec.churn.flash_crowd.peers if spec.churn.flash_crowd else 0)
        findings = list[Finding]()
        for key, latency in spec.network.latencies():
            findings += self._of(key, latency, latency.problems_of_files)
        jitter = spec.network.jitter
        if isinstance(jitter, JitterModel):
            findings += self._of("network.jitter", jitter, jitter.problems_of_files)
        for kind in spec.workload.chosen():
            ask = partial(_of_workload, kind, spec)
            findings += self._of("workload", spec.workload, ask, spec.peers)
        findings += self._of("churn.model", model, lambda: model.problems_of_files(base, end), base, end)
        return findings

    def _of(
        self, key: str, model: BaseModel, ask: Callable[[], Problems], *depends_on: float
    ) -> list[Finding]:
        """Return the problems of one model, which depend on the model itself and on these numbers."""
        known = key, model.model_dump_json(), depends_on
        if known not in self._found:
            try:
                with code_of(model, "could not check its files", TraceError):
                    self._found[known] = [(below, text) for below, text in ask()]
            except TraceError as error:
                self._found[known] = [(_key_of(model, error.file), f"cannot be used: {error}")]
        return [((*key.split("."), *below.split(".")), text) for below, text in self._found[known]]


def _of_workload(kind: WorkloadKind, spec: TrialSpec) -> Problems:
    """Return what is wrong inside the files of a workload."""
    parameters = getattr(spec.workload, kind.key)
    try:
        with code_of(kind, "could not check its files", TraceError):
            return [(key, text) for key, text in kind.problems_of_files(parameters, spec)]
    except TraceError as error:
        names = (name for name, file in kind.files(parameters) if file == error.file)
        return [(next(names, f"{kind.key}.kind"), f"cannot be used: {error}")]


def _key_of(model: BaseModel, file: Path) -> str:
    """Return the parameter that names the file."""
    return next((name for name, value in model if value == file), "kind")
