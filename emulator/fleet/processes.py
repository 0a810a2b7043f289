"""The fleet of local processes: hosts are children of this process and listen on 127.0.0.1."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import IO

from emulator.experiment.fidelity import Fidelity
from emulator.experiment.plan import Plan
from emulator.experiment.rundir import TrialDirectory
from emulator.experiment.spec import TrialSpec
from emulator.fleet.control import CoordinatorService
from emulator.fleet.coordinator import Coordinator
from emulator.fleet.member import own_versions
from emulator.fleet.verdict import judge
from emulator.runtime.clock import unix_ns
from emulator.runtime.progress import Report

_LOOPBACK = "127.0.0.1:0"
_START_LIMIT = 120.0
"""Wall seconds until all hosts are ready."""
_END_LIMIT = 60.0
"""Wall seconds after the trial's end for hosts to measure their clocks, close files and report."""
_EXIT_LIMIT = 5.0
"""Wall seconds for a host to exit once it was told to."""
_SILENCE_LIMIT = 20.0
"""Wall seconds without a word from a host, after which it counts as lost."""
_WATCH_PERIOD = 0.1
_REPORT_PERIOD = 0.5
_LOG_LIMIT = 1 << 20
"""Bytes of a host's log; what it writes beyond is thrown away."""


class Child:
    """A host process, with its log."""

    def __init__(
        self, name: str, coordinator: str, directory: TrialDirectory, systems: Sequence[str]
    ) -> None:
        logs = directory.path / "hosts"
        logs.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.log = logs / f"{name}.log"
        command = [
            *(sys.executable, "-m", "services.peer", "--name", name, "--coordinator", coordinator),
            *("--telemetry", str(directory.telemetry), "--parent", str(os.getpid())),
        ]
        for module in systems:
            command += ["--systems", module]
        log = self.log.open("wb", buffering=0)
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={"GRPC_VERBOSITY": "ERROR"} | os.environ,
        )
        assert self.process.stdout is not None
        self._drain = threading.Thread(target=_drain, args=(self.process.stdout, log), daemon=True)
        self._drain.start()

    def join(self) -> None:
        """Wait until all that the ended process wrote is in its log."""
        self._drain.join(_EXIT_LIMIT)

    def cause_of_death(self) -> str:
        """How the process ended, with the last line of its log; "" while it runs."""
        status = self.process.poll()
        if status is None:
            return ""
        self.join()
        how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        with self.log.open("rb") as log:
            log.seek(max(self.log.stat().st_size - 4096, 0))
            lines = log.read().decode(errors="replace").strip().splitlines()
        return f"{how}: {lines[-1].strip()}" if lines else how


def _drain(source: IO[bytes], log: IO[bytes]) -> None:
    """Copy to the log until it is full, and read on, so that the writer never waits."""
    left = _LOG_LIMIT
    with source, log:
        while data := source.read1(65_536):  # type: ignore[attr-defined]
            with contextlib.suppress(OSError):
                log.write(data[:left])
            left = max(left - len(data), 0)


@contextlib.contextmanager
def _children() -> Iterator[list[Child]]:
    """Hosts that all have ended when this ends, however it ends."""
    children: list[Child] = []
    try:
        yield children
    finally:
        for child in children:
            child.process.terminate()
        deadline = time.monotonic() + _EXIT_LIMIT
        for child in children:
            try:
                child.process.wait(max(deadline - time.monotonic(), 0.0))
            except subprocess.TimeoutExpired:
                child.process.kill()
                child.process.wait()
            child.join()


def run_processes(
    spec: TrialSpec, plan: Plan, directory: TrialDirectory, report: Report, systems: Sequence[str] = ()
) -> Fidelity:
    """Run a trial in real time; telemetry and `fidelity.json` are in `directory` afterwards.

    `systems` names modules that the hosts import, for systems outside the registry. Raises ValueError
    for a spec of another runtime, OSError if the directory cannot be written.
    """
    coordinator = Coordinator(spec, plan, directory.path.parent.parent.name, directory.name)
    with _children() as children:
        early_end = asyncio.run(_run(coordinator, directory, report, systems, children))
    fidelity = judge(coordinator, own_versions(), early_end)
    fidelity.write(directory.fidelity)
    return fidelity


async def _run(
    coordinator: Coordinator,
    directory: TrialDirectory,
    report: Report,
    systems: Sequence[str],
    children: list[Child],
) -> str:
    """From the first process to the last report. Gives the reason if the trial ended early."""
    service = CoordinatorService(coordinator)
    server, address = await service.serve(_LOOPBACK)
    try:
        children.extend(Child(name, address, directory, systems) for name in coordinator.members)
        watch = asyncio.create_task(_watch(coordinator, children))
        progress = asyncio.create_task(_report(coordinator, report))
        try:
            return await _follow(coordinator)
        finally:
            for task in (watch, progress):
                task.cancel()
            await asyncio.gather(watch, progress, return_exceptions=True)
    finally:
        await server.stop(grace=1.0)


async def _follow(coordinator: Coordinator) -> str:
    started = time.monotonic()
    while coordinator.start_ns is None:
        if why := _failure_before_start(coordinator, time.monotonic() - started):
            return why
        await asyncio.sleep(_WATCH_PERIOD)
    why = ""
    end = coordinator.spec.phases.end
    deadline = coordinator.start_ns + int(end * coordinator.time_scale * 1e9 + _END_LIMIT * 1e9)
    while not coordinator.over:
        now = unix_ns()
        if now > deadline:
            for member in coordinator.members.values():
                coordinator.lose(member.name, f"no result {_END_LIMIT:g} s after the trial's end")
        useless = [m for m in coordinator.members.values() if m.result is not None and m.result.error]
        if useless and not coordinator.stopping and coordinator.trial_time(now) < end:
            coordinator.stopping = True
            why = f"a host could not do its work at {coordinator.trial_time(now):.1f} s"
        await asyncio.sleep(_WATCH_PERIOD)
    return why or ("all hosts were lost" if all(m.lost for m in coordinator.members.values()) else "")


def _failure_before_start(coordinator: Coordinator, waited: float) -> str:
    lost = [f"{m.name}: {m.lost}" for m in coordinator.members.values() if m.lost]
    if lost:
        return f"it could not start, because {'; '.join(lost)}"
    if waited > _START_LIMIT:
        missing = [m.name for m in coordinator.members.values() if not m.ready]
        return f"it could not start: {', '.join(missing)} not ready after {_START_LIMIT:g} s"
    return ""


async def _watch(coordinator: Coordinator, children: Sequence[Child]) -> None:
    """Tell the coordinator of hosts that have died or fallen silent."""
    while True:
        for child in children:
            if cause := child.cause_of_death():
                coordinator.lose(child.name, cause)
        if coordinator.start_ns is not None:
            silent_since = unix_ns() - int(_SILENCE_LIMIT * 1e9)
            for member in coordinator.members.values():
                if member.result is None and member.heard_ns < silent_since:
                    coordinator.lose(member.name, f"silent for {_SILENCE_LIMIT:g} s")
        await asyncio.sleep(_WATCH_PERIOD)


async def _report(coordinator: Coordinator, report: Report) -> None:
    while True:
        report(coordinator.progress(unix_ns()))
        await asyncio.sleep(_REPORT_PERIOD)
