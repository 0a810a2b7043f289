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

from netem_peers import await_port, give_token, peer, trial_run
from netem_world import hosts

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
    (folder / "experiment.yaml").write_text(EXPERIMENT)
    give_token(folder)
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)
    with ExitStack() as stack:
        places = stack.enter_context(hosts(PEERS + 1))
        *peers, coordinator = places
        for number, address in enumerate(peers):
            place = places[address]
            stack.enter_context(peer(place, number, address, coordinator, folder, "netem_plain_peer"))
        for address in peers:
            await_port(places[coordinator], address)
        return stack.enter_context(trial_run(places[coordinator], coordinator, folder))


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
