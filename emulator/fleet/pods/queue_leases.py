"""The queue of a namespace as Leases, and the workloads of a release, by the Kubernetes API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote

from emulator.fleet.pods.pod_reading import ask, own_namespace
from emulator.fleet.pods.queue_order import PLACES, QUEUE

Json = dict[str, Any]
_JSON = "application/json"


@dataclass
class QueueLeases:
    """The API for the pod that this program runs in."""

    queue: str
    job: str
    """The name of the Job of the analysis."""
    namespace: str = field(default_factory=own_namespace)
    _places: dict[str, Json] = field(default_factory=dict, init=False)

    def entries(self) -> list[Json]:
        """Return the Leases of all entries of the queue."""
        return self._listed(QUEUE)

    def holders(self) -> dict[str, str]:
        """Return the places that there are, with their holders; "" is none."""
        self._places = {lease["metadata"]["name"]: lease for lease in self._listed(PLACES)}
        return {
            name: (lease.get("spec") or {}).get("holderIdentity") or ""
            for name, lease in self._places.items()
        }

    def take(self, place: str, holder: str) -> bool:
        """Make `holder` the one of a place, unless it has changed since `holders`."""
        spec = {"holderIdentity": holder, "acquireTime": _now()} if holder else {}
        lease: Json = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": place, "labels": {PLACES: self.queue}},
            "spec": spec,
        }
        known = self._places.get(place)
        try:
            if known is None:
                ask("POST", self._leases(), lease, _JSON)
            else:
                lease["metadata"]["resourceVersion"] = known["metadata"]["resourceVersion"]
                ask("PUT", self._leases(place), lease, _JSON)
        except HTTPError as error:
            if error.code != HTTPStatus.CONFLICT:
                raise
            return False
        return True

    def note(self, entry: str, annotations: Mapping[str, str | None]) -> None:
        """Write annotations of an entry, with the time; None removes one."""
        change = {"metadata": {"annotations": dict(annotations)}, "spec": {"renewTime": _now()}}
        ask("PATCH", self._leases(entry), change)

    def scale(self, workload: str, replicas: int) -> None:
        """Change the number of pods of a workload, such as "statefulsets/demo-peers-0"."""
        path = f"apis/apps/v1/namespaces/{self.namespace}/{workload}/scale"
        ask("PATCH", path, {"spec": {"replicas": replicas}})

    def suspend(self, suspended: bool) -> None:
        """Suspend the Job of the analysis, or let it run."""
        ask("PATCH", self._job(), {"spec": {"suspend": suspended}})

    def job_ended(self) -> bool:
        """Return whether the Job of the analysis has ended, well or not."""
        conditions = ask("GET", self._job()).get("status", {}).get("conditions") or ()
        return any(c["type"] in ("Complete", "Failed") and c["status"] == "True" for c in conditions)

    def _listed(self, label: str) -> list[Json]:
        items: list[Json] = ask("GET", f"{self._leases()}?labelSelector={quote(f'{label}={self.queue}')}")[
            "items"
        ]
        return items

    def _leases(self, name: str = "") -> str:
        path = f"apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases"
        return f"{path}/{name}" if name else path

    def _job(self) -> str:
        return f"apis/batch/v1/namespaces/{self.namespace}/jobs/{self.job}"


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
