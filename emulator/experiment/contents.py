"""What is wrong inside the files that an experiment names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from emulator.churn.avt import load_avt
from emulator.churn.model import trace_problems
from emulator.churn.spec import TraceFile
from emulator.experiment.explain import Finding
from emulator.experiment.spec import TrialSpec
from emulator.network.files import load_rtt
from emulator.network.spec import MatrixFile
from emulator.trace_error import TraceError
from emulator.workload.followers import load_followers
from emulator.workload.spec import EdgeList


class Contents:
    """Reads each file once, however many variants name it."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, Path], Any] = {}

    def problems(self, spec: TrialSpec) -> list[Finding]:
        """The lines that cannot be read, and files too small for the trial."""
        latency, model, source = spec.network.latency, spec.churn.model, spec.workload.subscriptions
        findings: list[Finding] = []
        if isinstance(latency, MatrixFile):
            rtt = self._load(latency.kind, latency.file, lambda _: load_rtt(latency))
            findings += _unreadable("network.latency.file", rtt)
        if isinstance(source, EdgeList):
            graph = self._load("edges", source.file, load_followers)
            findings += _unreadable("workload.subscriptions.file", graph)
            if not isinstance(graph, TraceError) and graph.nodes < spec.peers:
                text = f"has {graph.nodes} nodes, but there are {spec.peers} peers. Lower peers"
                findings.append((("workload", "subscriptions", "file"), text))
        if isinstance(model, TraceFile):
            trace = self._load("avt", model.file, load_avt)
            findings += _unreadable("churn.model.file", trace)
            if not isinstance(trace, TraceError):
                base = spec.peers - (spec.churn.flash_crowd.peers if spec.churn.flash_crowd else 0)
                found = trace_problems(trace, model, base, spec.phases.end)
                findings += [(("churn", "model", *key.split(".")), text) for key, text in found]
        return findings

    def _load(self, kind: str, file: Path, load: Callable[[Path], Any]) -> Any:
        """What the file holds, or the TraceError that it raised."""
        if (kind, file) not in self._read:
            try:
                self._read[kind, file] = load(file)
            except TraceError as error:
                self._read[kind, file] = error
        return self._read[kind, file]


def _unreadable(key: str, read: Any) -> list[Finding]:
    return [(tuple(key.split(".")), f"cannot be used: {read}")] if isinstance(read, TraceError) else []
