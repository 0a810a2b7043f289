"""Speed and memory of the virtual runtime: Vitis, high correlation, as the paper sets it."""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

from emulator.experiment.draw import draw_plan
from emulator.experiment.rundir import RunDirectory
from emulator.experiment.spec import TrialSpec
from emulator.runtime.progress import Progress
from emulator.runtime.virtual import run_virtual

ROUNDS = 60


def main(peers: int = 10_000, publications: int = 1000, system: str = "vitis") -> None:
    """Run one trial of 60 rounds of 1 s and print wall time, events a second and peak memory."""
    spec = TrialSpec.model_validate(
        {
            "system": {"name": system},
            "peers": peers,
            "workload": {
                "subscriptions": {"kind": "high", "topics": 5000, "buckets": 100, "per_peer": 50},
                "publications": {"events": publications},
            },
            "phases": {"join": "10 s", "settle": "30 s", "measure": "15 s", "drain": "5 s"},
        }
    )
    began = time.perf_counter()

    def report(progress: Progress) -> None:
        if progress.trial_time % 10 == 0:
            seconds = time.perf_counter() - began
            print(
                f"  {progress.trial_time:.0f} of {progress.trial_end:.0f} s after {seconds:.0f} s", flush=True
            )

    with tempfile.TemporaryDirectory() as folder:
        directory = RunDirectory(Path(folder)).trial(f"{system}-1")
        directory.path.mkdir(parents=True)
        fidelity = run_virtual(spec, draw_plan(spec), directory, report)
    seconds = time.perf_counter() - began
    cpu = time.process_time()
    events, messages = fidelity.measured["loop_events"], fidelity.measured["messages"]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"virtual {system}: {peers} peers, {ROUNDS} rounds, {publications} publications: "
        f"{seconds:.0f} s ({cpu:.0f} s of one core), {events:.0f} events, {events / seconds:.0f} events/s, "
        f"{messages:.0f} messages, {memory:.2f} GiB"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=int, default=10_000)
    parser.add_argument("--publications", type=int, default=1000)
    parser.add_argument("--system", default="vitis")
    given = parser.parse_args()
    main(given.peers, given.publications, given.system)
