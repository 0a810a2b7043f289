"""An installed release with its workloads, pods and volume, and the standing of its run."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from emulator.experiment.run.archive import ArchiveBomb, ArchiveError, unpack
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.runs import new_folder
from emulator.trials.run_progress import Standing
from trellis.command.release.cluster import Cluster, Json
from trellis.command.release.errors import NotThere, ReleaseError, Unreachable
from trellis.command.release.results_client import Results

_INSTANCE, _COMPONENT = "app.kubernetes.io/instance", "app.kubernetes.io/component"
_APPS, _BATCH, _CORE = "apis/apps/v1", "apis/batch/v1", "api/v1"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
"""The pattern of an experiment's name, as `validate` allows it, because it becomes a folder's name here."""
_LAST_LINES = 5
_FETCHES = 3
"""The attempts to bring a run directory home before a broken transfer is an error."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A StatefulSet, Deployment or Job."""

    kind: str
    name: str
    component: str
    wanted: int
    """The pods that it should have."""
    ready: int
    """The pods that are ready; of a Job, those that run or have ended well."""
    made: int
    """The pods that exist."""
    about: Json
    """The object itself."""


class Release:
    """Looks at one release; every call asks the cluster anew. Raises Unreachable and ReleaseError."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster = cluster
        self.name = name
        self._selector = f"{_INSTANCE}={name}"
        self.results = Results(cluster, name, f"{self._selector},{_COMPONENT}=results")

    def workloads(self) -> list[Workload]:
        """Return the workloads in the order of their names."""
        found = [
            _workload(kind.removesuffix("s"), about)
            for group, kind in ((_APPS, "statefulsets"), (_APPS, "deployments"), (_BATCH, "jobs"))
            for about in self.cluster.objects(group, kind, labelSelector=self._selector)
        ]
        return sorted(found, key=lambda workload: workload.name)

    def pods(self, component: str | None = None) -> list[Json]:
        """Return what `kubectl get pods` shows: Name, Ready, Status, Restarts."""
        return self.cluster.table(_CORE, "pods", labelSelector=self._selected(component))

    def pod(self, name: str) -> Json | None:
        """Return one pod whole; None if it has gone."""
        try:
            return self.cluster.get(f"/{_CORE}/namespaces/{self.cluster.namespace}/pods/{name}")
        except NotThere:
            return None

    def claims(self) -> list[Json]:
        """Return the claims that the release makes, also those left by a former one of this name."""
        return self.cluster.objects(_CORE, "persistentvolumeclaims", labelSelector=self._selector)

    def events(self, of: str) -> list[Json]:
        """Return the events of all objects of a kind in the namespace, such as "StatefulSet"."""
        return self.cluster.objects(_CORE, "events", fieldSelector=f"involvedObject.kind={of}", limit=500)

    def jobs(self, component: str | None = None) -> list[Json]:
        return self.cluster.objects(_BATCH, "jobs", labelSelector=self._selected(component))

    def analysis(self) -> dict[str, str]:
        """Return how the newest Job of the analysis ended, "Complete" or "Failed", with its reason."""
        return {
            condition["type"]: ": ".join(
                str(condition[key]) for key in ("reason", "message") if condition.get(key)
            )
            for job in sorted(self.jobs("analysis"), key=_made)[-1:]
            for condition in (job.get("status") or {}).get("conditions") or ()
            if condition["status"] == "True"
        }

    def schedule(self) -> str:
        """Return when the experiment runs, as cron says it; "" if it runs once."""
        jobs = self.cluster.objects(_BATCH, "cronjobs", labelSelector=self._selector)
        return next((str(job["spec"]["schedule"]) for job in jobs), "")

    def uploads(self, workloads: Iterable[Workload]) -> list[str]:
        """Return how the upload of the run to an object store went; nothing if there was none yet."""
        if not any(w.component == "analysis" and "--upload=" in str(w.about["spec"]) for w in workloads):
            return []
        pods = self.cluster.objects(_CORE, "pods", labelSelector=self._selected("analysis"))
        ends = (
            (status.get("state") or {}).get("terminated") or {}
            for pod in pods
            for status in (pod.get("status") or {}).get("containerStatuses") or ()
        )
        return [str(end["message"]) for end in ends if end.get("exitCode") == 0 and end.get("message")]

    def last_words(self, component: str) -> str:
        """Return what the newest pod of a component printed last, on one line."""
        pods = self.pods(component)
        text = self.logs(str(pods[-1]["Name"]), _LAST_LINES) if pods else ""
        return " / ".join(line.strip() for line in text.splitlines() if line.strip()) or "it said nothing"

    def logs(self, pod: str, lines: int) -> str:
        """Return the last lines that a pod printed or, if it was just restarted, those before that."""
        path = f"/{_CORE}/namespaces/{self.cluster.namespace}/pods/{pod}/log"
        text = ""
        for previous in ("false", "true"):
            try:
                with self.cluster.stream(path, tailLines=lines, previous=previous) as answer:
                    text = answer.data.decode(errors="replace")
            except (NotThere, ReleaseError) as error:
                if isinstance(error, Unreachable):
                    raise
                text = text or f"(no log: {error})"
            if text.strip() and not text.startswith("(no log"):
                break
        return text

    def standing(self) -> Standing | None:
        """Return how far the run is; None while its results service does not answer."""
        try:
            with self.results.read("status") as answer:
                return Standing.from_json(answer.data)
        except (NotThere, Unreachable, ValueError):
            self.cluster.get("/version")  # the cluster itself has to answer
            return None

    def earlier_runs(self) -> list[Json]:
        """Return how the earlier runs of a schedule stood, the youngest first."""
        with self.results.read("runs") as answer:
            return [dict(each) for each in json.loads(answer.data)]

    def fetch(self, out: Path, watch: Callable[[int], None], earlier: str = "") -> RunDirectory:
        """Copy the run directory, or an earlier one, to `<out>/<experiment>-<time>`, whole or not at all.

        `watch` is told how many bytes have come. Raises ReleaseError if the directory does not come whole in
        three attempts or is no run, and OSError.
        """
        standing = self.standing()
        if standing is None:
            raise ReleaseError(
                f"the results service of {self.name} does not answer. See why: trellis status {self.name}"
            )
        if not standing.experiment:
            why = standing.problem or "no trial has begun"
            raise ReleaseError(
                f"{self.name} has no run directory yet: {why}. See why: trellis status {self.name}"
            )
        if not _NAME.fullmatch(standing.experiment):
            raise ReleaseError(
                f"the results service of {self.name} tells of an experiment {standing.experiment[:80]!r}, "
                f"which is no name of one, so nothing is fetched. See its log: trellis logs {self.name}"
            )
        if earlier and earlier not in (there := [str(each["run"]) for each in self.earlier_runs()]):
            raise ReleaseError(
                f"{self.name} has no earlier run {earlier}. It has: {', '.join(there) or 'none'}"
            )
        out.mkdir(parents=True, exist_ok=True)
        for attempt in range(1, _FETCHES + 1):
            draft = Path(tempfile.mkdtemp(prefix=f".{self.name}-", suffix=".new", dir=out))
            try:
                with self.results.read(f"runs/{earlier}/run.tar.zst" if earlier else "run.tar.zst") as answer:
                    unpack(answer, draft, watch)
                draft.chmod(0o755)
                home = new_folder(standing.experiment, out)
                draft.replace(home)
                return RunDirectory(home)
            except ArchiveBomb as error:
                raise ReleaseError(f"the run directory of {self.name} was not fetched: {error}") from None
            except (ArchiveError, Unreachable) as error:
                if attempt == _FETCHES:
                    raise ReleaseError(
                        f"the run directory of {self.name} did not come whole, in {_FETCHES} attempts: "
                        f"{error}. Try again: trellis fetch {self.name}"
                    ) from None
            finally:
                shutil.rmtree(draft, ignore_errors=True)
        raise AssertionError

    def _selected(self, component: str | None) -> str:
        return f"{self._selector},{_COMPONENT}={component}" if component else self._selector


def _made(about: Json) -> str:
    return str(about["metadata"].get("creationTimestamp", ""))


def _workload(kind: str, about: Json) -> Workload:
    metadata, spec, status = about["metadata"], about["spec"], about.get("status") or {}
    labels = metadata.get("labels") or {}
    if kind == "job":
        wanted = 0 if spec.get("suspend") else int(spec.get("completions") or 1)
        ready = int(status.get("ready") or 0) + int(status.get("succeeded") or 0)
        made = (
            int(status.get("active") or 0)
            + int(status.get("succeeded") or 0)
            + int(status.get("failed") or 0)
        )
    else:
        wanted = int(spec["replicas"])
        ready, made = int(status.get("readyReplicas") or 0), int(status.get("replicas") or 0)
    return Workload(kind, metadata["name"], labels.get(_COMPONENT, ""), wanted, ready, made, about)
