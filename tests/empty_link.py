"""The delay of messages over empty links in real time, and the program that prints the page's table of it.

From the top folder of a checkout, `.venv/bin/python tests/empty_link.py` runs the trials of the page
docs/link-figures.md in two processes and prints its table.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from small_trial import Outcome

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.run.directory import TrialDirectory
from emulator.fleet.processes import run_processes
from emulator.telemetry import names

MBIT_S, ONE_WAY_MS = 10, 20.0
"""The rate of each link, up and down, and the delay of the way between them."""
TRIALS = ((1_250, False), (1_250, True), (12_500, True), (125_000, True))
"""The bytes of content of the messages of each trial, and whether peers have links."""


def spec(content: int, links: bool) -> TrialSpec:
    """Return a trial of two peers in two processes, of which one sends a message to the other each half
    second: each has left its links before the next one comes."""
    network: dict[str, Any] = {"latency": {"kind": "constant", "rtt": f"{2 * ONE_WAY_MS} ms"}}
    if links:
        network["bandwidth"] = {"up": f"{MBIT_S} Mbit/s", "down": f"{MBIT_S} Mbit/s", "queue": "10 s"}
    return TrialSpec.model_validate(
        {
            "system": {"name": "flood-hyparview"},
            "peers": 2,
            "network": network,
            "workload": {"broadcast": {"rate": 2, "spacing": "even", "bytes": content, "senders": 1}},
            "phases": {"join": "2 s", "settle": "5 s", "measure": "40 s", "drain": "3 s"},
            "runtime": {"kind": "processes", "hosts": 2},
        }
    )


def errors_ms(content: int, links: bool) -> list[float]:
    """Return by how much (ms) each message took longer than links and way take that carry nothing else."""
    asked = spec(content, links)
    with tempfile.TemporaryDirectory() as folder:
        directory = TrialDirectory(Path(folder) / "run" / "trials" / "empty-1")
        directory.path.mkdir(parents=True)
        outcome = Outcome(directory, run_processes(asked, draw_plan(asked), directory, lambda progress: None))
        return [
            1000 * (span.end - span.start) - ONE_WAY_MS - links * 2 * 8 * _bytes(span) / (1000 * MBIT_S)
            for span in outcome.spans
            if names.SENDER in span.attributes and _bytes(span) > content
        ]


def _bytes(span: Any) -> int:
    return int(span.attributes.get(names.BYTES, 0))


if __name__ == "__main__":
    print(f"load average before: {os.getloadavg()[0]:.1f}")
    for content, links in TRIALS:
        errors = errors_ms(content, links)
        told = " | ".join(f"{np.quantile(errors, share):.2f} ms" for share in (0.5, 0.9, 0.99))
        print(f"| {content:,} | {'with' if links else 'without'} | {len(errors)} | {told} |", flush=True)
    print(f"load average after: {os.getloadavg()[0]:.1f}")
