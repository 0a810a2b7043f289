"""The fleet of pods: a cluster starts the hosts, which serve all trials of a run."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

import grpc.aio

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.tables import Plan
from emulator.experiment.run.directory import TrialDirectory
from emulator.experiment.run.fidelity import Fidelity
from emulator.fleet.coordinator.authorization import Trust
from emulator.fleet.coordinator.conductor import follow
from emulator.fleet.coordinator.coordinator import Coordinator
from emulator.fleet.coordinator.fidelity_checks import judge
from emulator.fleet.coordinator.journal import Journal, replay
from emulator.fleet.coordinator.requests import Requests
from emulator.fleet.coordinator.service import CoordinatorService
from emulator.fleet.host.member import own_versions
from emulator.fleet.pods.pod_endings import note_endings
from emulator.runtime.progress import Report
from emulator.runtime.realtime.clock import unix_ns
from emulator.tracing.spans import span
from emulator.trust.refusals import Refusals

T = TypeVar("T")

_START_LIMIT = 900.0
"""The wall seconds in which a cluster must start all pods."""
_GRACE = 1.0


class PodFleet:
    """Serves the pods from a thread of its own; `run` conducts one trial after the other."""

    def __init__(self, experiment: str, loop: asyncio.AbstractEventLoop, service: CoordinatorService) -> None:
        self._experiment = experiment
        self._loop = loop
        self._service = service
        self.now: Coordinator | None = None
        """The coordinator of the running trial."""

    @property
    def requests(self) -> Requests:
        """The calls of all pods."""
        return self._service.requests

    @property
    def refusals(self) -> Refusals:
        """The connections and calls that were refused, by reason."""
        return self._service.refusals

    def run(self, spec: TrialSpec, plan: Plan, directory: TrialDirectory, report: Report) -> Fidelity:
        """Run a trial, or take it up where an earlier coordinator left it, and write `fidelity.json`.

        Raises ValueError for a spec of another runtime, OSError if the directory cannot be written.
        """
        directory.telemetry.mkdir(exist_ok=True)  # the Collector makes files, not folders
        coordinator = Coordinator(spec, plan, self._experiment, directory.name)
        replay(directory.journal, coordinator)
        coordinator.resume(unix_ns())
        self.now = coordinator
        try:
            early_end = self._wait(self._conduct(coordinator, directory, report))
        finally:
            self.now = None
        with span("judge"):
            note_endings(coordinator)
            fidelity = judge(coordinator, own_versions(), early_end)
        fidelity.write(directory.fidelity)
        return fidelity

    def close(self) -> None:
        """Tell the pods that there will be no further trial."""
        self._wait(self._service.close())

    async def _conduct(self, coordinator: Coordinator, directory: TrialDirectory, report: Report) -> str:
        with Journal(directory.journal) as journal:
            await self._service.begin(coordinator, journal)
            try:
                return await follow(coordinator, report, start_limit=_START_LIMIT)
            finally:
                await self._service.end()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


@contextlib.contextmanager
def serving_pods(listen: str, experiment: str, trust: Trust) -> Iterator[PodFleet]:
    """Serve the pods of this experiment at this address.

    Raises OSError if the address cannot be bound or the file of hosts' speakers cannot be read, and
    DamagedFile.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="coordinator", daemon=True)
    thread.start()
    try:
        service, server = asyncio.run_coroutine_threadsafe(_serve(listen, trust), loop).result()
        try:
            yield PodFleet(experiment, loop, service)
        finally:
            asyncio.run_coroutine_threadsafe(server.stop(_GRACE), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _serve(listen: str, trust: Trust) -> tuple[CoordinatorService, grpc.aio.Server]:
    service = CoordinatorService(trust)
    server, _ = await service.serve(listen)
    return service, server
