"""The events, processor time and memory that each system takes, for `trellis/measured_rates.py`.

Each system is run with 40 peers that are asked for almost nothing and with 160 that are asked for much, each
in a process of its own, on the virtual clock. `python -m benchmarks.rates [system ...]` measures all systems
of the repository, or some, and writes the module anew.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import psutil

from emulator.compiler.finder import WHY_INTERPRETED
from emulator.contract.registry import OWN_SYSTEMS, SYSTEMS
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.load import load
from emulator.experiment.run.directory import TrialDirectory
from emulator.layouts.layout import lay_out
from emulator.runtime.virtual.run_virtual import run_virtual
from trellis.measured_rates import RATES
from trellis.system_rate import SystemRate

MODULE: Final = Path(__file__).parent.parent / "trellis" / "measured_rates.py"
FEW: Final = 40
MANY: Final = 160
_BOXES: Final = {"a1": [0, 1000], "a2": [0, 1000]}
_HEAD: Final = '''"""The rates of the repository's systems, as `python -m benchmarks.rates` measured them."""

from __future__ import annotations

from typing import Final

from trellis.system_rate import SystemRate

RATES: Final[dict[str, SystemRate]] = {
'''


def workload(kind: str, is_busy: bool) -> dict[str, Any]:
    """Return a workload of a kind for 20 s of the measure phase."""
    rate = 10 if is_busy else 0.1
    return {
        "topics": {
            "subscriptions": {"kind": "random", "topics": 20, "per_peer": 5},
            "publications": {"events": round(20 * rate)},
        },
        "broadcast": {"broadcast": {"rate": rate / 2}},
        "content": {
            "subscriptions": {"kind": "boxes", "attributes": _BOXES, "per_peer": 2, "interested": 10},
            "publications": {"events": round(20 * rate), "publisher": "any"},
        },
        "lookups": {"lookups": {"rate": 10 * rate}},
        "values": {"values": {"count": 50, "gets": 2 * rate}},
        "membership": {"membership": {}},
    }[kind]


def trial(name: str, peers: int, is_busy: bool) -> TrialSpec:
    """Return the trial of a system that is measured."""
    serves = SYSTEMS[name].serves
    parameters: dict[str, Any] = {"attributes": _BOXES} if serves == "content" else {}
    fields = {
        "system": {"name": name, "parameters": parameters},
        "peers": peers,
        "workload": workload(serves, is_busy),
        "phases": {"join": "5 s", "settle": "15 s", "measure": "20 s", "drain": "5 s"},
    }
    return TrialSpec.model_validate(fields)


def measure(name: str, peers: int, is_busy: bool) -> dict[str, float]:
    """Run a trial in this process, and return what it took."""
    spec, before, process, memory = trial(name, peers, is_busy), time.process_time(), psutil.Process(), []
    plan = draw_plan(spec)
    with tempfile.TemporaryDirectory() as folder:
        directory = TrialDirectory(Path(folder) / "trial")
        directory.path.mkdir()
        outcome = run_virtual(
            lay_out(spec, plan), plan, directory, lambda _: memory.append(process.memory_info().rss)
        )
    return {
        "events": outcome.measured["loop_events"],
        "load": load(plan),
        "peer_s": peers * spec.phases.end,
        "processor_s": time.process_time() - before,
        "memory": max(memory),
    }


def rate_of(name: str) -> SystemRate:
    """Measure one system."""
    context = multiprocessing.get_context("fork")
    runs = []
    for peers, is_busy in ((FEW, False), (MANY, True)):
        with ProcessPoolExecutor(1, context) as process:
            runs.append(process.submit(measure, name, peers, is_busy).result())
    few, many = runs
    # Two equations: events = a * peer seconds + b * load.
    by = few["peer_s"] * many["load"] - many["peer_s"] * few["load"]
    idle = (
        (few["events"] * many["load"] - many["events"] * few["load"]) / by
        if by
        else few["events"] / few["peer_s"]
    )
    idle = max(idle, 0.0)
    each = (many["events"] - idle * many["peer_s"]) / many["load"] if many["load"] else 0.0
    us = max((many["processor_s"] - few["processor_s"]) / (many["events"] - few["events"]), 1e-6)
    peer_bytes = max((many["memory"] - few["memory"]) / (MANY - FEW), 0.0)
    return SystemRate(
        float(f"{idle:.3g}"),
        float(f"{max(each, 0.0):.3g}"),
        float(f"{1e6 * us:.3g}"),
        round(max(few["processor_s"] - us * few["events"], 0.0), 2),
        round(few["memory"] - FEW * peer_bytes, -5),
        round(peer_bytes, -3),
    )


def main(names: list[str]) -> None:
    """Measure the systems with these names, or all, and write the module."""
    if WHY_INTERPRETED:
        sys.exit(f"rates are those of compiled systems: {WHY_INTERPRETED}")
    found = {name: asdict(rate) for name, rate in RATES.items()}
    for name in names or OWN_SYSTEMS:
        try:
            found[name] = asdict(rate_of(name))
        except Exception as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        print(name, json.dumps(found[name]), flush=True)
        rows = (
            f'    "{each}": SystemRate({", ".join(map(repr, found[each].values()))}),\n'
            for each in sorted(found)
        )
        MODULE.write_text(f"{_HEAD}{''.join(rows)}}}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
