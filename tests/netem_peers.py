"""A trial of real peers, each in a namespace of its own with netem, and their round trips: as JSON.

`python tests/netem_peers.py FOLDER` under a kernel with netem, as root. The peers are started, their round
trips measured without netem, a coordinator runs one trial of them, and their round trips are measured
again, while netem is as the trial has left it. Prints one object: `matrix` (RTTs in ms), `echoes` and
`calls` (`without`, `with` netem, in ms), `fidelity` (the trial's own). What the programs print goes
to files in the folder.
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
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from netem_probers import PORT, probers
from netem_world import hosts, within
from pyroute2 import netns

from emulator.experiment.file.load import load
from emulator.experiment.file.variants import trials
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.network.build_network import build_network
from emulator.network.netem.shaper import why_unavailable
from emulator.trust.credentials import new_token

PEERS = 8
COORDINATOR_PORT = 7000
EXPERIMENT = f"""
name: netem
peers: {PEERS}
system: {{name: vitis}}
network: {{enforce: netem, latency: {{kind: king}}}}
workload:
  subscriptions: {{kind: high, topics: 20, buckets: 4, per_peer: 4}}
  publications: {{events: 20}}
phases: {{join: 5 s, settle: 10 s, measure: 5 s, drain: 5 s}}
runtime: {{kind: kubernetes, hosts: {PEERS}}}
"""
_LIMIT = 150.0
"""Seconds for the programs to start, and for the trial."""


def matrix(experiment: Path) -> list[list[float]]:
    """Return RTTs in ms between the peers, which are at the hosts of the same number."""
    (trial,) = trials(load(experiment))
    locations = draw_plan(trial.spec).peers["location"].to_pylist()
    network = build_network(trial.spec.network, locations, trial.spec.seed)
    return [[2e3 * network.one_way(one, other) for other in range(PEERS)] for one in range(PEERS)]


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
    wanted = matrix(experiment)
    run = folder / "run"
    token = folder / "token"
    token.write_text(new_token())
    os.environ["TRELLIS_TOKEN_FILE"] = str(token)
    with ExitStack() as stack:
        places = stack.enter_context(hosts(PEERS + 1))
        *peers, coordinator = places
        probe = stack.enter_context(probers({peer: places[peer] for peer in peers}, serving=False))
        for number, address in enumerate(peers):
            stack.enter_context(
                program(
                    places[address],
                    "services.peer",
                    "--stay",
                    "--telemetry",
                    str(folder / f"telemetry-{number}"),
                    log=folder / f"peer-{number}.log",
                    TRELLIS_POD=f"peers-{number}",
                    TRELLIS_COORDINATOR=f"{coordinator}:{COORDINATOR_PORT}",
                    TRELLIS_LISTEN=f"{address}:{PORT}",
                    TRELLIS_NETEM="1",
                )
            )
        for address in peers:
            await_port(places[coordinator], address)
        echoes, calls = {"without": probe.echoes()}, {"without": probe.calls()}
        log = folder / "coordinator.log"
        listen = f"{coordinator}:{COORDINATOR_PORT}"
        files = ("--experiment", str(experiment), "--run", str(run))
        stack.enter_context(
            program(places[coordinator], "services.coordinator", *files, "--listen", listen, log=log)
        )
        await_line(log, "all trials have ended")
        echoes["with"], calls["with"] = probe.echoes(), probe.calls()
        (fidelity,) = (run / "trials").glob("*/fidelity.json")
        return {
            "matrix": wanted,
            "echoes": echoes,
            "calls": calls,
            "fidelity": json.loads(fidelity.read_text()),
        }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
