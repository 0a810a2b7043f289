"""What is wrong inside the files that an experiment names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from emulator.churn.avt import load_avt
from emulator.churn.draw_sessions import trace_problems
from emulator.churn.spec import TraceFile
from emulator.experiment.file.explain import Finding
from emulator.experiment.file.spec import TrialSpec
from emulator.files.trace_error import TraceError
from emulator.network.matrix_files import load_rtt
from emulator.network.spec import MatrixFile
from emulator.workload.source import Problems, Source


class Contents:
    """Reads each file once, however many variants name it."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, Path], Any] = {}
        self._sources: dict[tuple[str, int], Problems] = {}

    def problems(self, spec: TrialSpec) -> list[Finding]:
        """The lines that cannot be read, and files too small for the trial."""
        latency, model, source = spec.network.latency, spec.churn.model, spec.workload.subscriptions
        findings: list[Finding] = []
        if isinstance(latency, MatrixFile):
            rtt = self._load(latency.kind, latency.file, lambda _: load_rtt(latency))
            findings += _unreadable("network.latency.file", rtt)
        if source is not None:
            participants = spec.peers * (spec.workload.clients.per_peer if spec.workload.clients else 1)
            findings += [
                (("workload", "subscriptions", *key.split(".")), text)
                for key, text in self._of_source(source, participants)
            ]
        if isinstance(model, TraceFile):
            trace = self._load("avt", model.file, load_avt)
            findings += _unreadable("churn.model.file", trace)
            if not isinstance(trace, TraceError):
                base = spec.peers - (spec.churn.flash_crowd.peers if spec.churn.flash_crowd else 0)
                found = trace_problems(trace, model, base, spec.phases.end)
                findings += [(("churn", "model", *key.split(".")), text) for key, text in found]
        return findings

    def _of_source(self, source: Source, participants: int) -> Problems:
        """What is wrong inside the files of a kind of subscriptions."""
        key = source.model_dump_json(), participants
        if key not in self._sources:
            try:
                found = source.problems_of_files(participants)
            except TraceError as error:
                found = [(_key_of(source, error.file), f"cannot be used: {error}")]
            self._sources[key] = found
        return self._sources[key]

    def _load(self, kind: str, file: Path, load: Callable[[Path], Any]) -> Any:
        """What the file holds, or the TraceError that it raised."""
        if (kind, file) not in self._read:
            try:
                self._read[kind, file] = load(file)
            except TraceError as error:
                self._read[kind, file] = error
        return self._read[kind, file]


def _key_of(source: Source, file: Path) -> str:
    """The parameter that names the file."""
    return next((name for name in type(source).model_fields if getattr(source, name) == file), "kind")


def _unreadable(key: str, read: Any) -> list[Finding]:
    return [(tuple(key.split(".")), f"cannot be used: {read}")] if isinstance(read, TraceError) else []
