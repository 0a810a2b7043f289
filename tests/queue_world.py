"""A queue of releases without a cluster: Leases in memory, and what programs did to the pods of releases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emulator.fleet.pods.admission import Admission, Workloads
from emulator.fleet.pods.queue_order import PAUSED, PRIORITY, QUEUE, SLOTS, STATE

WORKLOADS = Workloads({"statefulsets/peers": 20}, {"statefulsets/coordinator": 1, "deployments/results": 1})


def entry_lease(
    release: str, created: str, state: str = "", priority: int = 0, slots: int = 1, renewed: str = "now"
) -> dict[str, Any]:
    """Return the Lease of an entry, as the API server tells of it."""
    return {
        "metadata": {
            "name": f"{release}-queue",
            "uid": f"uid-{release}",
            "creationTimestamp": created,
            "labels": {"app.kubernetes.io/instance": release, QUEUE: "default"},
            "annotations": {
                PRIORITY: str(priority),
                SLOTS: str(slots),
                **({STATE: state} if state else {}),
            },
        },
        "spec": {"renewTime": renewed} if renewed else {},
    }


class QueueWorld:
    """A namespace with a queue; tests add releases to it and let time pass."""

    def __init__(self) -> None:
        self.leases: dict[str, dict[str, Any]] = {}
        self.places: dict[str, tuple[int, str]] = {}
        """Version and holder of each place."""
        self.pods: dict[str, dict[str, int]] = {}
        self.suspended: dict[str, bool] = {}
        self.ended: set[str] = set()
        self.now = 0.0
        self.programs: dict[str, Admission] = {}

    def install(self, release: str, priority: int = 0, slots: int = 1, conducted: bool = True) -> Admission:
        """Install a release; those that are installed later are younger."""
        created = f"2026-11-30T08:00:{len(self.leases):02}Z"
        self.leases[f"{release}-queue"] = entry_lease(release, created, "", priority, slots, "")
        self.pods[release], self.suspended[release] = {}, True
        self.programs[release] = self.program(release, conducted)
        return self.programs[release]

    def program(self, release: str, conducted: bool = True) -> Admission:
        """Return the program of a release as it begins, such as after its pod was lost."""
        return Admission(
            ReleaseApi(self, release),
            f"{release}-queue",
            "default",
            WORKLOADS if conducted else Workloads({}, {"deployments/results": 1}),
            conducted,
            say=lambda text: None,
            clock=lambda: self.now,
        )

    def remove(self, release: str) -> None:
        """Uninstall a release."""
        del self.leases[f"{release}-queue"], self.programs[release], self.pods[release]

    def turns(self, count: int = 3) -> None:
        """Let each program look some times, in turn."""
        for _ in range(count):
            self.now += 5.0
            for program in list(self.programs.values()):
                program.step()

    def notes(self, release: str) -> dict[str, str]:
        notes: dict[str, str] = self.leases[f"{release}-queue"]["metadata"]["annotations"]
        return notes

    def state(self, release: str) -> str:
        return self.notes(release).get(STATE, "")

    def pause(self, release: str, paused: bool = True) -> None:
        if paused:
            self.notes(release)[PAUSED] = "true"
        else:
            del self.notes(release)[PAUSED]

    @property
    def running(self) -> set[str]:
        """The releases of which there are pods."""
        return {release for release, pods in self.pods.items() if any(pods.values())}


class ReleaseApi:
    """The part of the API server that the program of a release may ask."""

    def __init__(self, world: QueueWorld, release: str) -> None:
        self._world = world
        self._release = release
        self._versions: dict[str, int] = {}

    def entries(self) -> list[dict[str, Any]]:
        return list(self._world.leases.values())

    def holders(self) -> dict[str, str]:
        self._versions = {name: version for name, (version, _) in self._world.places.items()}
        return {name: holder for name, (_, holder) in self._world.places.items()}

    def take(self, place: str, holder: str) -> bool:
        version = self._world.places.get(place, (0, ""))[0]
        if self._versions.get(place, 0) != version:
            return False
        self._world.places[place] = version + 1, holder
        return True

    def note(self, entry: str, annotations: Mapping[str, str | None]) -> None:
        about = self._world.leases[entry]
        notes = about["metadata"]["annotations"] | annotations
        about["metadata"]["annotations"] = {k: v for k, v in notes.items() if v is not None}
        about["spec"] = {"renewTime": f"{self._world.now:09.3f}"}

    def scale(self, workload: str, replicas: int) -> None:
        self._world.pods[self._release][workload] = replicas

    def suspend(self, suspended: bool) -> None:
        self._world.suspended[self._release] = suspended

    def job_ended(self) -> bool:
        return self._release in self._world.ended
