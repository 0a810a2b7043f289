"""A trial of real peers, each in a namespace of its own with netem, and their round trips: as JSON.

`python tests/netem_peers.py FOLDER` under a kernel with netem, as root. The peers are started, their round
trips measured without netem, a coordinator runs one trial of them, in which half of the peers are parted
from the others and each takes time for a message, and their round trips are measured again, while netem is
as the trial has left it. What the programs print goes to files in the folder. The object has:

`matrix` (RTTs in ms), `echoes` and `calls` (`without`, `with` netem, in ms), `fidelity` (the trial's own),
`hops` (sent at s, handled at s, sender, peer), `parted` (the peers of one side), and `stopped` (the number of
messages that the partition stopped).
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from netem_probers import PORT, probers
from netem_world import hosts, within
from pyroute2 import netns

from emulator.experiment.file.load import load
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.file.variants import trials
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.tables import Plan
from emulator.network.build_network import build_network
from emulator.network.netem.shaper import why_unavailable
from emulator.runtime.plan_script import faults_hit
from emulator.telemetry import names
from emulator.testing.trial_spans import read_spans
from emulator.trust.credentials import new_token

PEERS = 4
COORDINATOR_PORT = 7000
EXPERIMENT = f"""
name: netem
peers: {PEERS}
system: {{name: vitis}}
network: {{enforce: netem, latency: {{kind: king}}}}
processing: {{message: 10 ms}}
faults:
  - {{name: split, at: 12 s, for: 5 s, partition: {{share: 0.5}}}}
workload:
  subscriptions: {{kind: high, topics: 12, buckets: 3, per_peer: 4}}
  publications: {{events: 20}}
phases: {{join: 5 s, settle: 10 s, measure: 5 s, drain: 5 s}}
runtime: {{kind: kubernetes, hosts: {PEERS}}}
"""
_LIMIT = 150.0
"""Seconds for the programs to start, and for the trial."""


def matrix(spec: TrialSpec, plan: Plan) -> list[list[float]]:
    """Return RTTs in ms between the peers, which are at the hosts of the same number."""
    network = build_network(spec.network, plan.peers["location"].to_pylist(), spec.seed)
    return [[2e3 * network.one_way(one, other) for other in range(PEERS)] for one in range(PEERS)]


def messages(folder: Path) -> tuple[list[tuple[float, float, int, int]], int]:
    """Return the hops of traced messages, and the number of those that the partition stopped."""
    hops, stopped = [], 0
    for telemetry in folder.glob("telemetry-*/*"):
        for span in read_spans(telemetry):
            told = span.attributes
            stopped += told.get(names.OBSERVED) == "fault split"
            if names.DEPTH in told:
                hops.append((span.start, span.end, told[names.SENDER], told[names.PEER]))
    return hops, stopped


@contextmanager
def program(place: str, module: str, *arguments: str, log: Path, **environment: str) -> Iterator[None]:
    """Run a service in a namespace and tell it to end at the end. It has 30 s for that."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            env=os.environ | environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=partial(netns.setns, place),
        )
    try:
        yield
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    finally:
        process.kill()
        process.wait()


def peer(
    place: str, number: int, address: str, coordinator: str, folder: Path, module: str = "services.peer"
) -> AbstractContextManager[None]:
    """Run a host of the trial in a namespace, as the pod of this number."""
    return program(
        place,
        module,
        "--stay",
        "--telemetry",
        str(folder / f"telemetry-{number}"),
        log=folder / f"peer-{number}.log",
        TRELLIS_POD=f"peers-{number}",
        TRELLIS_COORDINATOR=f"{coordinator}:{COORDINATOR_PORT}",
        TRELLIS_LISTEN=f"{address}:{PORT}",
        TRELLIS_NETEM="1",
    )


@contextmanager
def trial_run(place: str, coordinator: str, folder: Path) -> Iterator[dict[str, Any]]:
    """Run the only trial of the folder's experiment, and yield its fidelity while its programs still run."""
    log = folder / "coordinator.log"
    files = ("--experiment", str(folder / "experiment.yaml"), "--run", str(folder / "run"))
    listen = ("--listen", f"{coordinator}:{COORDINATOR_PORT}")
    with program(place, "services.coordinator", *files, *listen, log=log):
        await_line(log, "all trials have ended")
        (fidelity,) = (folder / "run" / "trials").glob("*/fidelity.json")
        yield json.loads(fidelity.read_text())


def give_token(folder: Path) -> None:
    """Give the programs that start from now on a token of the trial."""
    token = folder / "token"
    token.write_text(new_token())
    os.environ["TRELLIS_TOKEN_FILE"] = str(token)


def await_port(place: str, address: str) -> None:
    end = time.monotonic() + _LIMIT
    while time.monotonic() < end:
        with within(place), socket.socket() as attempt:
            attempt.settimeout(5)
            if attempt.connect_ex((address, PORT)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError(f"no peer listens at {address}")


def await_line(log: Path, line: str) -> None:
    end = time.monotonic() + _LIMIT
    while time.monotonic() < end:
        if line in log.read_text():
            return
        time.sleep(0.5)
    raise TimeoutError(f"{line!r} is not said")


def main(folder: Path) -> dict[str, Any]:
    if (reason := why_unavailable()) is not None:
        raise SystemExit(reason)
    experiment = folder / "experiment.yaml"
    experiment.write_text(EXPERIMENT)
    (trial,) = trials(load(experiment))
    plan = draw_plan(trial.spec)
    give_token(folder)
    with ExitStack() as stack:
        places = stack.enter_context(hosts(PEERS + 1))
        *peers, coordinator = places
        probe = stack.enter_context(probers({peer: places[peer] for peer in peers}, serving=False))
        for number, address in enumerate(peers):
            stack.enter_context(peer(places[address], number, address, coordinator, folder))
        for address in peers:
            await_port(places[coordinator], address)
        echoes, calls = {"without": probe.echoes()}, {"without": probe.calls()}
        fidelity = stack.enter_context(trial_run(places[coordinator], coordinator, folder))
        echoes["with"], calls["with"] = probe.echoes(), probe.calls()
        hops, stopped = messages(folder)
        return {
            "matrix": matrix(trial.spec, plan),
            "hops": hops,
            "parted": faults_hit(trial.spec, plan)[0],
            "stopped": stopped,
            "echoes": echoes,
            "calls": calls,
            "fidelity": fidelity,
        }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
