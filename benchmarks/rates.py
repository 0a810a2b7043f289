"""The events, processor time and memory that each system takes, for `trellis/measured_rates.py`.

Each system is run five times with 40 to 300 peers that are asked for little and for much, each in a process
of its own, on the virtual clock. The events of four trials are fitted by how many peers and subscriptions
there are for how long and by the load of the plan, as they are and times the logarithm of the number of
peers. What tells the fifth trial better counts. A system whose events it does not tell within a factor of 1.5
has no rates, and trials of it are taken for the mean of others. Each duration among the parameters of the
others is doubled in an idle trial, which shows the share of events that come with its rounds.
`python -m benchmarks.rates [system ...]` measures all systems of the repository, or some, and writes the
module anew.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import psutil
from scipy.optimize import nnls

from emulator.compiler.finder import WHY_INTERPRETED
from emulator.contract.registry import OWN_SYSTEMS, SYSTEMS
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.load import load
from emulator.experiment.run.directory import TrialDirectory
from emulator.files.quantities import parse_duration
from emulator.layouts.layout import lay_out
from emulator.runtime.virtual.run_virtual import run_virtual
from trellis.expected_cost import growth
from trellis.measured_rates import RATES
from trellis.system_rate import SystemRate

MODULE: Final = Path(__file__).parent.parent / "trellis" / "measured_rates.py"
WITHIN: Final = 1.5
"""The factor within which rates have to tell the events of all trials."""
_LEAST: Final = 0.05
"""The least share of the events that is told to come with the rounds of a parameter."""
_BOXES: Final = {"a1": [0, 1000], "a2": [0, 1000]}
_HEAD: Final = '''"""The rates of the repository's systems, as `python -m benchmarks.rates` measured them."""

from __future__ import annotations

from typing import Final

from trellis.system_rate import SystemRate

RATES: Final[dict[str, SystemRate]] = {
'''


class TooRough(Exception):
    """The rates of a system do not tell its events; the text says how far they are off."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The size of a trial, and how much its peers are asked for in a measure phase of some seconds."""

    peers: int
    rate: float
    """The events in a second."""
    topics: int
    per_peer: int
    """The subscriptions of a peer."""
    seconds: int


IDLE: Final = Asked(40, 0.1, 20, 5, 20)
BUSY: Final = Asked(160, 10, 20, 5, 20)
FITTED: Final = (IDLE, BUSY, Asked(100, 3, 60, 15, 40), Asked(300, 0.5, 40, 2, 20))
CHECK: Final = Asked(200, 2, 30, 8, 30)


def workload(kind: str, asked: Asked) -> dict[str, Any]:
    """Return a workload of a kind."""
    events = max(round(asked.seconds * asked.rate), 1)
    return {
        "topics": {
            "subscriptions": {"kind": "random", "topics": asked.topics, "per_peer": asked.per_peer},
            "publications": {"events": events},
        },
        "broadcast": {"broadcast": {"rate": asked.rate / 2}},
        "content": {
            "subscriptions": {
                "kind": "boxes", "attributes": _BOXES, "per_peer": max(asked.per_peer // 3, 1),
                "interested": 10,
            },
            "publications": {"events": events, "publisher": "any"},
        },
        "lookups": {"lookups": {"rate": 10 * asked.rate}},
        "values": {"values": {"count": 50, "gets": 10 * asked.rate}},
        "membership": {"membership": {}},
    }[kind]  # fmt: skip


def trial(name: str, asked: Asked, parameters: Mapping[str, Any]) -> TrialSpec:
    """Return the trial of a system that is measured."""
    serves = SYSTEMS[name].serves
    needed = {"attributes": _BOXES} if serves == "content" else {}
    fields = {
        "system": {"name": name, "parameters": {**needed, **parameters}},
        "peers": asked.peers,
        "workload": workload(serves, asked),
        "phases": {"join": "5 s", "settle": "15 s", "measure": f"{asked.seconds} s", "drain": "5 s"},
    }
    return TrialSpec.model_validate(fields)


def measure(name: str, asked: Asked, parameters: Mapping[str, Any]) -> dict[str, float]:
    """Run a trial in this process, and return what it took."""
    spec, before, process, memory = trial(name, asked, parameters), time.process_time(), psutil.Process(), []
    plan = draw_plan(spec)
    with tempfile.TemporaryDirectory() as folder:
        directory = TrialDirectory(Path(folder) / "trial")
        directory.path.mkdir()
        outcome = run_virtual(
            lay_out(spec, plan), plan, directory, lambda _: memory.append(process.memory_info().rss)
        )
    of_plan = load(plan)
    return {
        "peers": asked.peers,
        "events": outcome.measured["loop_events"],
        "peer_s": asked.peers * spec.phases.end,
        "subscription_s": of_plan.subscriptions * spec.phases.end,
        "load": of_plan.deliveries,
        "processor_s": time.process_time() - before,
        "memory": max(memory),
    }


def run(name: str, asked: Asked, parameters: Mapping[str, Any] | None = None) -> dict[str, float]:
    """Run a trial in a process of its own, and return what it took."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as process:
        return process.submit(measure, name, asked, parameters or {}).result()


def rate_of(name: str) -> SystemRate:
    """Measure one system. Raises TooRough if its rates do not tell the events of all trials."""
    runs = [run(name, asked) for asked in FITTED]
    checked = run(name, CHECK)
    found = [(fitted(runs, grows), grows) for grows in (False, True)]
    events, grows = min(found, key=lambda each: off(told(*each, checked), checked["events"]))
    most = max(off(told(events, grows, each), each["events"]) for each in (*runs, checked))
    if most > WITHIN:
        raise TooRough(f"its events are told within a factor of {most:.2f} alone")
    few, many = runs[0], runs[1]
    us = max((many["processor_s"] - few["processor_s"]) / (many["events"] - few["events"]), 1e-6)
    peer_bytes = max((many["memory"] - few["memory"]) / (BUSY.peers - IDLE.peers), 0.0)
    return SystemRate(
        *(float(f"{each:.3g}") for each in events),
        grows,
        float(f"{1e6 * us:.3g}"),
        round(max(few["processor_s"] - us * few["events"], 0.0), 2),
        round(few["memory"] - IDLE.peers * peer_bytes, -5),
        round(peer_bytes, -3),
        tuple(rounds(name, few, few["events"] - events[2] * few["load"])),
    )


def fitted(runs: Sequence[Mapping[str, float]], grows: bool) -> Sequence[float]:
    """Return the events of a peer and of a subscription in a second, and of a unit of load, by the least
    squares of the relative errors."""
    rows = [
        [
            of[name] * growth(of["peers"], grows) / of["events"]
            for name in ("peer_s", "subscription_s", "load")
        ]
        for of in runs
    ]
    found: Sequence[float] = nnls(np.array(rows), np.ones(len(rows)))[0].tolist()
    return found


def told(events: Sequence[float], grows: bool, of: Mapping[str, float]) -> float:
    """Return how many events a trial is told to have."""
    parts = zip(events, (of["peer_s"], of["subscription_s"], of["load"]), strict=True)
    return growth(of["peers"], grows) * sum(each * count for each, count in parts)


def off(told: float, counted: float) -> float:
    """Return the factor by which one number is off another."""
    return max(told / counted, counted / told)


def rounds(name: str, idle: Mapping[str, float], own: float) -> Iterator[tuple[str, float]]:
    """Yield each duration among the parameters that is shorter than an idle trial and the share of the
    peers' own events that come with its rounds: what doubling it leaves out, twice."""
    for key, value in durations(SYSTEMS[name].parameters().model_dump()):
        if 0 < value < idle["peer_s"] / idle["peers"] / 2:
            try:
                doubled = run(name, IDLE, _nested(key, f"{2 * value} s"))
            except Exception as error:
                print(f"{name}: {key} is not doubled: {error}", file=sys.stderr)
                continue
            share = 2 * (idle["events"] - doubled["events"]) / own
            if share >= _LEAST:
                yield key, float(f"{min(share, 1.0):.2g}")


def durations(parameters: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, float]]:
    """Yield each duration among parameters, by its dotted key, in seconds."""
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            yield from durations(value, f"{within}{name}.")
        elif isinstance(value, str):
            try:
                yield f"{within}{name}", parse_duration(value)
            except ValueError:
                continue


def _nested(key: str, value: str) -> dict[str, Any]:
    first, dot, rest = key.partition(".")
    return {first: _nested(rest, value) if dot else value}


def main(names: list[str]) -> None:
    """Measure the systems with these names, or all, and write the module."""
    if WHY_INTERPRETED:
        sys.exit(f"rates are those of compiled systems: {WHY_INTERPRETED}")
    found = {name: asdict(rate) for name, rate in RATES.items()}
    for name in names or OWN_SYSTEMS:
        found.pop(name, None)
        try:
            found[name] = asdict(rate_of(name))
            print(name, json.dumps(found[name]), flush=True)
        except Exception as error:
            print(f"{name}: {error}", file=sys.stderr)
        rows = (
            f'    "{each}": SystemRate({", ".join(map(repr, found[each].values()))}),\n'
            for each in sorted(found)
        )
        MODULE.write_text(f"{_HEAD}{''.join(rows)}}}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
