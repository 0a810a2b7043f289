"""A watch of a release's pods that says what has held them up for too long."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from trellis.command.release.pod_problems import Problem, explain_pod, kind_of, refusal, trouble, unbound
from trellis.command.release.release import Release, Workload

_CRASHES = 2
"""The restarts after which a program that ends again is in trouble, however long it runs each time."""
_SLOW = 4
"""A pod whose container is being made is looked at after this many times the patience: a node makes many in
turn."""
_SAMPLES = 2
"""The most pods of one workload that are asked for the reason."""
_EVENTS = {"statefulset": "StatefulSet", "deployment": "ReplicaSet", "job": "Job"}
_ORDER = ("volume", "quota", "refused", "image", "create", "crash", "schedule", "slow")


class Lookout:
    """Remembers since when each sign of trouble has lasted."""

    def __init__(
        self, release: Release, patience: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`patience` is in seconds: what mends itself in that time is no problem."""
        self._release = release
        self._patience = patience
        self._clock = clock
        self._since: dict[tuple[str, str], float] = {}

    def look(self, workloads: Iterable[Workload]) -> list[Problem]:
        """Return the problems that have lasted, the one that explains the others first."""
        signs = {("short", w.name): w for w in workloads if w.made < w.wanted and not _ended(w)}
        claims = {
            ("volume", str(claim["metadata"]["name"])): claim
            for claim in self._release.claims()
            if (claim.get("status") or {}).get("phase") != "Bound"
        }
        pods: dict[tuple[str, str], int] = {}
        for row in self._release.pods():
            if (kind := kind_of(str(row["Status"]))) is not None:
                pods[kind, str(row["Name"])] = int(str(row["Restarts"]).split()[0])
        now = self._clock()
        self._since = {key: self._since.get(key, now) for key in (*signs, *claims, *pods)}
        problems = self._of_claims([claim for key, claim in claims.items() if self._lasts(key)])
        problems += self._of_workloads([workload for key, workload in signs.items() if self._lasts(key)])
        problems += self._of_pods([key for key, restarts in pods.items() if self._lasts(key, restarts)])
        if any(problem.kind == "volume" for problem in problems):
            problems = [p for p in problems if "PersistentVolumeClaim" not in p.text]
        return sorted(problems, key=lambda problem: _ORDER.index(problem.kind))

    def _lasts(self, key: tuple[str, str], restarts: int = 0) -> bool:
        if key[0] == "crash":
            return restarts >= _CRASHES
        limit = self._patience * (_SLOW if key[0] == "slow" else 1)
        return self._clock() - self._since[key] >= limit

    def _of_claims(self, claims: list[dict[str, object]]) -> list[Problem]:
        events = self._release.events("PersistentVolumeClaim") if claims else []
        return [problem for claim in claims if (problem := unbound(claim, events))]

    def _of_workloads(self, workloads: list[Workload]) -> list[Problem]:
        events = {kind: self._release.events(_EVENTS[kind]) for kind in {w.kind for w in workloads}}
        found = (refusal(workload.about, events[workload.kind]) for workload in workloads)
        return [problem for problem in found if problem]

    def _of_pods(self, keys: list[tuple[str, str]]) -> list[Problem]:
        """Return the problems of pods. Some pods of a workload speak for all that show the same sign."""
        groups: dict[tuple[str, str], list[str]] = {}
        for kind, name in sorted(keys):
            groups.setdefault((kind, name.rpartition("-")[0]), []).append(name)
        texts: dict[tuple[str, str], list[str]] = {}
        for (kind, _), names in groups.items():
            whys = (self._explain(name, kind) for name in names[:_SAMPLES])
            if (why := next((why for why in whys if why), None)) is not None:
                texts.setdefault((kind, why), []).extend(names)
        return [Problem(kind, tuple(names), why) for (kind, why), names in texts.items()]

    def _explain(self, name: str, kind: str) -> str | None:
        if kind == "slow":
            told = trouble(name, self._release.events("Pod"))
            return f"its container cannot be made: {told}" if told else None
        pod = self._release.pod(name)
        return explain_pod(pod, kind) if pod is not None else None


def _ended(workload: Workload) -> bool:
    conditions = (workload.about.get("status") or {}).get("conditions") or ()
    return any(c["type"] in ("Complete", "Failed") and c["status"] == "True" for c in conditions)
