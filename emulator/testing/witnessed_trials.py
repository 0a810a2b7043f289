"""Small trials of any system under churn: what applications were handed, and what telemetry tells of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulator.contract import registry
from emulator.contract.registry import SYSTEMS
from emulator.experiment.file.spec import SystemSpec, TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.tables import Plan
from emulator.experiment.run.directory import RunDirectory, TrialDirectory
from emulator.experiment.run.fidelity import Fidelity
from emulator.layouts.layout import lay_out
from emulator.telemetry import names
from emulator.testing.trial_spans import Span, read_spans
from emulator.testing.witness import WITNESS, Handed, read_ledger

_BROADCAST = {
    "plumtree": "hyparview",
    "flood": "cyclon",
    "push-gossip": "newscast",
    "anti-entropy": "random-graph",
}
"""Each protocol that takes any membership, and the one over which it is tried."""


def _is_repeated(name: str) -> bool:
    """Return whether a system has a protocol and a membership each of which is tried in another one."""
    if name.startswith("quasar-"):
        return name.removeprefix("quasar-") in ("hyparview", "cyclon", "newscast")
    protocol = next((each for each in _BROADCAST if name.startswith(f"{each}-")), None)
    return protocol is not None and name != f"{protocol}-{_BROADCAST[protocol]}"


OWN_SYSTEMS = [
    name for name, entry in registry._systems().items() if not entry.package and not _is_repeated(name)
]
"""The systems of Trellis itself, whatever toys tests have added; a protocol that takes any membership is
there once, and so is each membership."""
TOPICS = {
    "subscriptions": {"kind": "random", "topics": 6, "per_peer": 2, "buckets": 1, "within": "2 s"},
    "publications": {"events": 60},
}
ATTRIBUTES = [
    {"name": name, "low": 0.0, "high": 100.0, "sub_range": 5.0, "presence": 0.7} for name in ("price", "size")
]
CONTENT = {
    "subscriptions": {"kind": "ranges", "per_peer": 2, "attributes": ATTRIBUTES},
    "publications": {"events": 120},
}
WORKLOADS: dict[str, dict[str, Any]] = {
    "topics": TOPICS,
    "content": CONTENT,
    "lookups": {"lookups": {"rate": 12.0}},
    "values": {"values": {"count": 20, "gets": 12.0, "updates": 0.5, "bytes": 64}},
    "membership": {"membership": {}},
    "broadcast": {"broadcast": {"rate": 2.0}},
}
DOMAINS = {"price": [0.0, 100.0], "size": [0.0, 100.0]}
PARAMETERS: dict[str, dict[str, Any]] = {
    "li": {"attributes": DOMAINS, "capacity": [5, 9]},
    "kyra": {"attributes": DOMAINS},
    "siena": {"attributes": DOMAINS},
    "groups": {"attributes": DOMAINS},
}
"""The parameters of systems that need some."""
_HANDED = {"event": names.EVENT, "lookup": names.LOOKUP, "": names.NUMBER}
"""What is handed over, and the attribute with its number; an operation of another kind names itself."""
SLOW = {"kyra", "magnet-pastry"}
"""Systems that hardly deliver to peers that stay for 20 s, so that there would be nothing to compare."""


def spec_of(system: str, ledger: Path, peers: int, measure: str = "30 s", **fields: Any) -> TrialSpec:
    """Return a trial under churn, with some loss and messages that overtake each other.

    `ledger` is a folder that is made for what applications are handed; `fields` replace those of the trial.
    """
    ledger.mkdir()
    stay, settle = ("60 s", "60 s") if system in SLOW else ("20 s", "6 s")
    witness = {"of": system, "parameters": PARAMETERS.get(system, {}), "ledger": str(ledger)}
    return TrialSpec.model_validate(
        {
            "system": {"name": WITNESS.name, "parameters": witness},
            "peers": peers,
            "network": {"jitter": "20 ms", "loss": 0.01, "unreachable_after": "2 s"},
            "workload": WORKLOADS[SYSTEMS[system].serves],
            "churn": {
                "model": {"kind": "poisson", "mean_session": stay, "mean_gap": "5 s"},
                "graceful": 0.7,
            },
            "phases": {"join": "2 s", "settle": settle, "measure": measure, "drain": "10 s"},
        }
        | fields
    )


@dataclass(frozen=True)
class WitnessedTrial:
    """A finished trial of a witness."""

    spec: TrialSpec
    plan: Plan
    directory: TrialDirectory
    fidelity: Fidelity
    handed: list[Handed]


def run_witnessed(
    spec: TrialSpec, run: RunDirectory, execute: Callable[[TrialSpec, Plan, TrialDirectory], Fidelity]
) -> WitnessedTrial:
    """Draw the plan of a trial of a witness, lay out what its system needs, and execute it."""
    parameters = spec.system.parameters
    directory = run.trial(f"{parameters['of']}-{spec.runtime.kind}")
    directory.path.mkdir(parents=True)
    plan = draw_plan(spec)
    plan.write(directory.plan)
    fidelity = execute(_laid_out(spec, plan), plan, directory)
    fidelity.write(directory.fidelity)
    return WitnessedTrial(spec, plan, directory, fidelity, read_ledger(Path(parameters["ledger"])))


def _laid_out(spec: TrialSpec, plan: Plan) -> TrialSpec:
    """Return the spec with what is laid out for the system that the witness runs."""
    witness = spec.system.parameters
    own = {"name": witness["of"], "parameters": witness["parameters"]}
    inner = lay_out(spec.model_copy(update={"system": SystemSpec.model_validate(own)}), plan)
    parameters = witness | {"parameters": inner.system.parameters}
    return spec.model_copy(update={"system": spec.system.model_copy(update={"parameters": parameters})})


def told(directory: TrialDirectory) -> list[Handed]:
    """Return what the telemetry of a trial says that applications were handed."""
    return told_by(read_spans(directory.telemetry))


def told_by(spans: Iterable[Span]) -> list[Handed]:
    """Return what these spans say that applications were handed."""
    found = []
    for span in spans:
        marks = span.attributes
        if not marks.get(names.DELIVERED):
            continue
        for what, key in _HANDED.items():
            if key in marks:
                what = marks.get(names.OPERATION, what)
                found.append(Handed(what, marks[key], marks[names.PEER], marks[names.HOPS], span.end))
                break
    return found


def without_time(handed: Iterable[Handed]) -> Counter[tuple[str, int, int, int]]:
    """Return how often each outcome was handed over, whenever that was."""
    return Counter((each.what, each.number, each.peer, each.hops) for each in handed)
