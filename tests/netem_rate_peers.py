"""A trial of real peers, each in a namespace of its own, whose links the kernel limits: its fidelity as JSON.

`python tests/netem_rate_peers.py FOLDER` as root. What the programs print goes to files in the folder.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from netem_peers import COORDINATOR_PORT, await_line, await_port, program
from netem_probers import PORT
from netem_world import hosts

from emulator.trust.credentials import new_token

PEERS = 4
EXPERIMENT = f"""
name: rates
peers: {PEERS}
system: {{name: vitis}}
network:
  enforce: netem
  latency: {{kind: constant, rtt: 0.1 ms}}
  bandwidth: {{up: 6 Mbit/s, down: 4 Mbit/s, queue: 200 ms}}
workload:
  subscriptions: {{kind: high, topics: 4, buckets: 2, per_peer: 4}}
  publications: {{events: 60, payload_bytes: 128000}}
phases: {{join: 5 s, settle: 10 s, measure: 25 s, drain: 15 s}}
runtime: {{kind: kubernetes, hosts: {PEERS}}}
"""


def main(folder: Path) -> dict[str, Any]:
    experiment, run, token = folder / "experiment.yaml", folder / "run", folder / "token"
    experiment.write_text(EXPERIMENT)
    token.write_text(new_token())
    os.environ["TRELLIS_TOKEN_FILE"] = str(token)
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)
    with ExitStack() as stack:
        places = stack.enter_context(hosts(PEERS + 1))
        *peers, coordinator = places
        listen = f"{coordinator}:{COORDINATOR_PORT}"
        for number, address in enumerate(peers):
            stack.enter_context(
                program(
                    places[address],
                    "netem_plain_peer",
                    "--stay",
                    "--telemetry",
                    str(folder / f"telemetry-{number}"),
                    log=folder / f"peer-{number}.log",
                    TRELLIS_POD=f"peers-{number}",
                    TRELLIS_COORDINATOR=listen,
                    TRELLIS_LISTEN=f"{address}:{PORT}",
                    TRELLIS_NETEM="1",
                )
            )
        for address in peers:
            await_port(places[coordinator], address)
        log, files = folder / "coordinator.log", ("--experiment", str(experiment), "--run", str(run))
        stack.enter_context(
            program(places[coordinator], "services.coordinator", *files, "--listen", listen, log=log)
        )
        await_line(log, "all trials have ended")
        (fidelity,) = (run / "trials").glob("*/fidelity.json")
        found: dict[str, Any] = json.loads(fidelity.read_text())
        return found


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
