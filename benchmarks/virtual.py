"""Speed and memory of the virtual runtime: Vitis as its paper sets it, Li's workload, and parts of Vitis."""

from __future__ import annotations

import argparse
import gc
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.newscast import NEWSCAST
from emulator.compiler.finder import WHY_INTERPRETED
from emulator.contract.registry import SYSTEMS
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.run.directory import RunDirectory
from emulator.runtime.progress import Progress
from emulator.runtime.virtual.run_virtual import run_virtual

_ATTRIBUTES = [
    {"name": "Attr1", "low": 0, "high": 10_000, "sub_range": 100, "skew": 0.6, "size_skew": 0.8},
    {"name": "Attr2", "low": -10_000, "high": 10_000, "sub_range": 20, "skew": 0.5, "size_skew": 0.6},
    {"name": "Attr3", "low": 0, "high": 3000, "sub_range": 10, "skew": 0.4, "size_skew": 0.5},
    {"name": "Attr4", "low": 0, "high": 200, "sub_range": 1, "skew": 0.3, "size_skew": 0.4},
]
_SIZE_BOUNDS = (0.5, 0.4, 0.3, 0.2)
_ROUNDS = {"join": "10 s", "settle": "30 s", "measure": "15 s", "drain": "5 s"}
_FEW_LOOKUPS = {"lookups": {"rate": 10}}
TRIALS: dict[str, dict[str, Any]] = {
    "newscast": {"peers": 10_000, "workload": _FEW_LOOKUPS, "phases": _ROUNDS},
    "small-world": {
        "peers": 100_000,
        "workload": _FEW_LOOKUPS,
        "phases": {"join": "10 s", "settle": "10 s", "measure": "5 s", "drain": "5 s"},
    },
    "vitis": {
        "peers": 10_000,
        "workload": {
            "subscriptions": {
                "kind": "high",
                "topics": 5000,
                "buckets": 100,
                "per_peer": 50,
                "within": "0 s",
            },
            "publications": {"events": 1000},
        },
        "phases": _ROUNDS,
    },
    "li": {
        "peers": 5000,
        "workload": {
            "subscriptions": {
                "kind": "ranges",
                "within": "600 s",
                "attributes": [
                    attribute | {"size_bound": bound}
                    for attribute, bound in zip(_ATTRIBUTES, _SIZE_BOUNDS, strict=True)
                ],
            },
            "publications": {"events": 10_000, "publisher": "any"},
        },
        "phases": {"join": "60 s", "settle": "660 s", "measure": "600 s", "drain": "10 s"},
    },
}
"""Vitis: 60 rounds of 1 s with high correlation. Li: tables 4.1 to 4.3 of the thesis at its largest size.

Newscast: 60 rounds of the peer sampling alone. The small world: 30 rounds of a ring with long links.
"""


_LINKS: dict[str, Any] = {"up": "20 Mbit/s", "down": "100 Mbit/s"}


def main(system: str, peers: int | None = None, links: str | None = None) -> None:
    """Run one trial and print wall time, events of the loop a second and peak memory.

    `links` is the discipline of the peers' links; without it they have no limit.
    """
    SYSTEMS[NEWSCAST.name] = NEWSCAST
    given = TRIALS[system] | ({"peers": peers} if peers else {})
    if links:
        given |= {"network": {"bandwidth": _LINKS | {"discipline": links}}}
    spec = TrialSpec.model_validate({"system": {"name": system}, **given})
    began = time.perf_counter()
    shown = 0.0

    def report(progress: Progress) -> None:
        nonlocal shown
        if progress.trial_time >= shown:
            shown += progress.trial_end / 12
            seconds = time.perf_counter() - began
            at, end = progress.trial_time, progress.trial_end
            print(f"  {at:.0f} of {end:.0f} s after {seconds:.0f} s", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        directory = RunDirectory(Path(folder)).trial(f"{system}-1")
        directory.path.mkdir(parents=True)
        fidelity = run_virtual(spec, draw_plan(spec), directory, report)
    gc.freeze()  # As a trial's own process does.
    seconds = time.perf_counter() - began
    cpu = time.process_time()
    events, messages = fidelity.measured["loop_events"], fidelity.measured["messages"]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"virtual {system}: {spec.peers} peers, {spec.phases.end:.0f} s of trial time: "
        f"{seconds:.1f} s ({cpu:.1f} s of one core), {events:.0f} events, {events / seconds:.0f} events/s, "
        f"{messages:.0f} messages, {memory:.2f} GiB, {WHY_INTERPRETED or 'compiled'}",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system", choices=TRIALS)
    parser.add_argument("--peers", type=int)
    parser.add_argument("--links", choices=("fifo", "fair"), help="links of 20 Mbit/s up and 100 Mbit/s down")
    arguments = parser.parse_args()
    main(arguments.system, arguments.peers, arguments.links)
