"""The programs that pods run, as processes: they come and go, and the trial goes on."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from emulator.telemetry.otlp_files import read_records

HOSTS = 3
EXPERIMENT = """
name: pods
peers: 6
system: {name: vitis, parameters: {}}
network: {latency: {kind: constant, rtt: 40 ms}, regions: [{name: eu, share: 50 %}, {name: us, share: 50 %}]}
workload:
  subscriptions: {kind: random, topics: 4, per_peer: 2, buckets: 2}
  publications: {events: 20}
phases: {join: 1 s, settle: 3 s, measure: 3 s, drain: 1 s}
runtime: {kind: kubernetes, hosts: 3, time_scale: SCALE}
telemetry: {metrics_interval: 0.5 s}
fidelity: {timer_lateness_p99: 25 s, delay_error_p99: 25 s, session_error_p99: 60 s, loop_stall: 60 s}
"""
UNHURRIED = EXPERIMENT.replace("SCALE", "1")
"""Leaves programs some seconds in which to come back."""
QUICK = EXPERIMENT.replace("SCALE", "0.25")


class Release:
    """A coordinator and its hosts, with the files that pods would share."""

    def __init__(self, folder: Path, experiment: str) -> None:
        self.run = folder / "run"
        self.telemetry = folder / "telemetry"
        self._file = folder / "experiment.yaml"
        self._file.write_text(experiment)
        self._folder = folder
        self._token = folder / "token"
        self._token.write_text("the token of this release\n")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._address = f"127.0.0.1:{free.getsockname()[1]}"
        self._started: list[subprocess.Popen[bytes]] = []

    def coordinator(self, *options: str) -> subprocess.Popen[bytes]:
        files = ["--experiment", str(self._file), "--run", str(self.run), *options]
        return self._start("coordinator", ["services.coordinator", *files, "--listen", self._address], {})

    def host(self, number: int) -> subprocess.Popen[bytes]:
        pod = {"TRELLIS_POD": f"r-peers-0-{number}", "TRELLIS_COORDINATOR": self._address}
        program = ["services.peer", "--stay", "--telemetry", str(self.telemetry)]
        return self._start(f"host-{number}", program, pod)

    def _start(self, name: str, program: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
        environment = os.environ | {"TRELLIS_TOKEN_FILE": str(self._token)} | environment
        with (self._folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", *program], env=environment, stdout=log, stderr=log
            )
        self._started.append(process)
        return process

    def end(self) -> None:
        for process in self._started:
            process.kill()
            process.wait()

    def trials(self) -> list[dict[str, Any]]:
        files = sorted(self.run.glob("trials/*/status.json"))
        return [json.loads(file.read_text()) for file in files]

    def until(self, condition: Callable[[], Any], limit: float = 60.0) -> None:
        deadline = time.monotonic() + limit
        while not condition():
            logs = [file.read_text()[-2000:] for file in self._folder.glob("*.log")]
            assert time.monotonic() < deadline, "waited in vain:\n" + "\n".join(logs)
            time.sleep(0.1)

    def until_time(self, trial_time: float) -> None:
        """Wait until this time of the only trial."""
        self.until(lambda: self._start_time() and time.time() - self._start_time() > trial_time)

    def _start_time(self) -> float:
        """Return when the last host was ready (unix); 0 before."""
        lines = [line for file in self.run.glob("trials/*/journal.jsonl") for line in file.open()]
        ready = [json.loads(line)["at_ns"] for line in lines if '"ready"' in line]
        return max(ready) * 1e-9 if len(ready) >= HOSTS else 0.0

    def ended(self) -> bool:
        return bool(self.trials()) and all(
            t["state"] in ("valid", "invalid", "failed") for t in self.trials()
        )

    def fidelity(self) -> dict[str, Any]:
        (file,) = self.run.glob("trials/*/fidelity.json")
        found: dict[str, Any] = json.loads(file.read_text())
        return found


@pytest.fixture
def release(tmp_path: Path) -> Iterator[Release]:
    made = Release(tmp_path, UNHURRIED)
    yield made
    made.end()


def test_hosts_take_part_in_one_trial_after_the_other_and_go_when_told(tmp_path: Path) -> None:
    release = Release(tmp_path, QUICK + "repeat: 2\n")
    try:
        hosts = [release.host(number) for number in range(HOSTS)]
        coordinator = release.coordinator()
        release.until(lambda: release.ended() and len(release.trials()) == 2)
        assert [trial["reasons"] for trial in release.trials()] == [[], []]
        for process in (*hosts, coordinator):
            process.send_signal(signal.SIGTERM)
        assert [process.wait(10) for process in (*hosts, coordinator)] == [0, 0, 0, 0]
    finally:
        release.end()


def test_a_trial_survives_its_coordinator(release: Release) -> None:
    first = release.coordinator()
    for number in range(HOSTS):
        release.host(number)
    release.until_time(2.0)
    first.kill()
    first.wait()
    time.sleep(1.0)
    release.coordinator()
    release.until(release.ended)
    fidelity = release.fidelity()
    assert fidelity["valid"], fidelity["reasons"]
    assert [host["state"] for host in fidelity["hosts"]] == ["finished"] * HOSTS


@pytest.mark.parametrize("allowed", [0, 1])
def test_a_host_that_is_killed_takes_its_place_again_and_the_trial_tells(
    tmp_path: Path, allowed: int
) -> None:
    release = Release(tmp_path, UNHURRIED.replace("fidelity: {", f"fidelity: {{hosts_restarted: {allowed}, "))
    try:
        release.coordinator()
        hosts = [release.host(number) for number in range(HOSTS)]
        release.until_time(2.0)
        release.until(lambda: (4, 0) in joins(release.telemetry))  # a busy machine writes it later
        hosts[1].kill()
        hosts[1].wait()
        release.host(1)
        release.until(release.ended)
    finally:
        release.end()
    fidelity = release.fidelity()
    assert [host["state"] for host in fidelity["hosts"]] == ["finished", "restarted", "finished"]
    assert [session for session in joins(release.telemetry) if session[0] == 4] == [(4, 0), (4, 0)]
    (check,) = [check for check in fidelity["checks"] if check["name"] == "hosts restarted"]
    assert "host-1 with peers 1, 4 came back at" in check["detail"]
    assert fidelity["valid"] is bool(allowed), fidelity["reasons"]
    if not allowed:
        (reason,) = fidelity["reasons"]
        assert "hosts restarted: 1 host, limit 0 hosts" in reason
        assert "fidelity.hosts_restarted is 0" in reason


def test_a_host_that_is_told_to_go_has_its_peers_take_their_leave(release: Release) -> None:
    release.coordinator()
    hosts = [release.host(number) for number in range(HOSTS)]
    release.until_time(2.0)
    hosts[1].send_signal(signal.SIGTERM)
    assert hosts[1].wait(10) == 0
    left = [dict(span) for name, span in operations(release.telemetry) if name == "leave"]
    assert sorted(span["trellis.peer"] for span in left) == [1, 4]
    assert all(span["trellis.graceful"] for span in left)


def test_an_experiment_with_an_error_is_refused(tmp_path: Path) -> None:
    release = Release(tmp_path, QUICK.replace("peers: 6", "peers: six"))
    try:
        assert release.coordinator().wait(30) == 2
        assert "experiment.yaml:3" in (tmp_path / "coordinator.log").read_text()
    finally:
        release.end()


def operations(telemetry: Path) -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """Return the name and attributes of root spans."""
    for file in telemetry.glob("*/*traces*"):
        for record in read_records(file):
            for resource in TracesData.FromString(record).resource_spans:
                for span in resource.scope_spans[0].spans:
                    if not span.parent_span_id:
                        values = [(a.key, a.value.int_value or a.value.bool_value) for a in span.attributes]
                        yield span.name, values


def joins(telemetry: Path) -> list[tuple[int, int]]:
    """Return (peer, session) of all joins."""
    found = [dict(attributes) for name, attributes in operations(telemetry) if name == "join"]
    return sorted((int(span["trellis.peer"]), int(span["trellis.session"])) for span in found)
