"""How many Vitis peers with 1 s rounds stay valid in real time, on two host processes."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.run.directory import TrialDirectory
from emulator.experiment.run.fidelity import Fidelity
from emulator.fleet.processes import run_processes

SIZES = (250, 500, 750, 1000)
_COLUMNS = (
    ("messages_per_s", "messages/s", 1.0, "{:.0f}"),
    ("timer_lateness_p50_ms", "lateness p50 ms", 1.0, "{:.1f}"),
    ("timer_lateness_max_ms", "max ms", 1.0, "{:.0f}"),
    ("delay_error_p50_ms", "delay error p50 ms", 1.0, "{:.1f}"),
    ("host_cpu_max_share", "CPU of a host", 100.0, "{:.0f} %"),
    ("hosts_memory_bytes", "hosts' memory MiB", 1 / 2**20, "{:.0f}"),
)


def run_size(peers: int) -> Fidelity:
    """Run one trial of about 45 s in the high-correlation setting."""
    spec = TrialSpec.model_validate(
        {
            "system": {"name": "vitis"},
            "peers": peers,
            "workload": {
                "subscriptions": {"kind": "high", "topics": 5000, "per_peer": 50, "buckets": 100},
                "publications": {"events": 100},
            },
            "phases": {"join": "10 s", "settle": "15 s", "measure": "15 s", "drain": "5 s"},
            "runtime": {"kind": "processes", "hosts": 2},
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        trial = TrialDirectory(Path(folder) / "benchmark" / "trials" / f"vitis-{peers}")
        trial.path.mkdir(parents=True)
        return run_processes(spec, draw_plan(spec), trial, lambda _: None)


def main(sizes: Sequence[int] = SIZES) -> None:
    """Print a line for each size up to the first that is invalid, then the largest valid one."""
    print("real time: Vitis on 2 hosts, 1 s rounds")
    largest = 0
    memory: list[tuple[int, float]] = []
    for peers in sizes:
        fidelity = run_size(peers)
        figures = ", ".join(
            f"{title} {form.format(fidelity.measured[name] * factor)}"
            for name, title, factor, form in _COLUMNS
        )
        print(f"{peers:6} peers: {'valid' if fidelity.valid else 'INVALID'}, {figures}", flush=True)
        memory.append((peers, fidelity.measured["hosts_memory_bytes"]))
        if not fidelity.valid:
            print(f"        {'; '.join(fidelity.reasons)}")
            break
        largest = peers
    print(f"largest valid: {largest} peers")
    if len(memory) > 1:
        slope = np.polyfit(*zip(*memory, strict=True), deg=1)[0]
        print(f"memory: {slope / 1024:.0f} KiB a peer")


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or SIZES)
