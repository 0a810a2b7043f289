"""The fleet of local processes: hosts are children of this process and listen on its loopback address."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from typing import IO

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.tables import Plan
from emulator.experiment.run.directory import TrialDirectory
from emulator.experiment.run.fidelity import Fidelity
from emulator.files.child_programs import surroundings
from emulator.fleet.coordinator.authorization import Trust
from emulator.fleet.coordinator.conductor import Fleet, conduct
from emulator.fleet.coordinator.coordinator import Coordinator
from emulator.fleet.coordinator.fidelity_checks import judge
from emulator.fleet.host.member import own_versions
from emulator.fleet.host.stop_signals import WORD, is_stopped
from emulator.network.loopback import any_port
from emulator.runtime.progress import Report
from emulator.tracing.log_lines import words_of
from emulator.tracing.spans import span
from emulator.trust.credentials import Credentials, new_token

_INHERITED = "/dev/stdin"
"""The pipe by which a host gets its token, which would be visible to others in a command line."""
_EXIT_LIMIT = 5.0
"""The wall seconds that a host has to exit once it was told to."""
_TELLING_LIMIT = 4.0
"""The wall seconds that hosts have after the trial to send their last spans, and to exit by themselves."""
_STOP_LIMIT = 10.0
"""A host that a signal has stopped for this many wall seconds counts as lost."""
_LOG_LIMIT = 1 << 20
"""The most bytes of a host's log; the rest is thrown away."""


def run_processes(spec: TrialSpec, plan: Plan, directory: TrialDirectory, report: Report) -> Fidelity:
    """Run a trial in real time; telemetry and `fidelity.json` are in `directory` afterwards.

    Raises ValueError for a spec of another runtime, OSError if the directory cannot be written.
    """
    coordinator = Coordinator(spec, plan, directory.path.parent.parent.name, directory.name)
    trust = Trust(Credentials(new_token()))
    fleet = ProcessFleet(directory, trust.credentials.token)
    try:
        early_end = asyncio.run(conduct(coordinator, any_port(), fleet, report, trust))
        if coordinator.trace:
            fleet.let_end(_TELLING_LIMIT)
    finally:
        fleet.close()
    with span("judge"):
        fidelity = judge(coordinator, own_versions(), early_end)
    fidelity.write(directory.fidelity)
    return fidelity


class ProcessFleet(Fleet):
    """The hosts as child processes, which end with this one."""

    def __init__(self, directory: TrialDirectory, token: str) -> None:
        """Hosts and coordinator of this run show each other the `token`."""
        self._directory = directory
        self._token = token
        self._children: list[_Child] = []

    def start(self, coordinator: str, hosts: list[str]) -> None:
        self._children.extend(_Child(name, coordinator, self._directory, self._token) for name in hosts)

    def deaths(self) -> dict[str, str]:
        causes = {child.name: child.cause_of_death() for child in self._children}
        return {name: cause for name, cause in causes.items() if cause}

    def let_end(self, limit: float) -> None:
        """Wait until the hosts have ended by themselves, for at most `limit` wall seconds."""
        deadline = time.monotonic() + limit
        for child in self._children:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.process.wait(max(deadline - time.monotonic(), 0.0))

    def close(self) -> None:
        """End all hosts that have not ended; no host process is left afterwards."""
        for child in self._children:
            child.process.terminate()
        deadline = time.monotonic() + _EXIT_LIMIT
        for child in self._children:
            try:
                child.process.wait(max(deadline - time.monotonic(), 0.0))
            except subprocess.TimeoutExpired:
                child.process.kill()
                child.process.wait()
            child.join()


class _Child:
    """A host process, with its log."""

    def __init__(self, name: str, coordinator: str, directory: TrialDirectory, token: str) -> None:
        logs = directory.path / "hosts"
        logs.mkdir(parents=True, exist_ok=True)
        self.name = name
        self._stopped_since: float | None = None
        self._log = logs / f"{name}.log"
        command = [
            *(sys.executable, "-m", "services.peer", "--name", name, "--coordinator", coordinator),
            *("--telemetry", str(directory.telemetry), "--parent", str(os.getpid())),
            *("--token", _INHERITED),
        ]
        log = self._log.open("wb", buffering=0)
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            env={"GRPC_VERBOSITY": "ERROR"} | surroundings(),
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError), self.process.stdin as pipe:
            pipe.write(token.encode())
        self._drain = threading.Thread(target=_drain, args=(self.process.stdout, log), daemon=True)
        self._drain.start()

    def join(self) -> None:
        """Wait until the log has all that the ended process wrote."""
        self._drain.join(_EXIT_LIMIT)

    def cause_of_death(self) -> str:
        """Return how the process ended, with the last line of its log; "" while it runs."""
        status = self.process.poll()
        if status is None:
            return self._stopped_for_long()
        self.join()
        how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        with self._log.open("rb") as log:
            log.seek(max(self._log.stat().st_size - 4096, 0))
            lines = log.read().decode(errors="replace").strip().splitlines()
        return f"{how}: {words_of(lines[-1].strip())}" if lines else how

    def _stopped_for_long(self) -> str:
        if not is_stopped(self.process.pid):
            self._stopped_since = None
            return ""
        now = time.monotonic()
        if self._stopped_since is None:
            self._stopped_since = now
        return f"it {WORD} and does not go on" if now - self._stopped_since > _STOP_LIMIT else ""


def _drain(source: IO[bytes], log: IO[bytes]) -> None:
    """Copy to the log until it is full, and read on after that, so that the writer never waits."""
    left = _LOG_LIMIT
    with source, log:
        while data := source.read(65_536):
            with contextlib.suppress(OSError):
                log.write(data[:left])
            left = max(left - len(data), 0)
