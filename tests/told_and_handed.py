"""Small trials of any system under churn: what applications were handed, and what telemetry tells of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
from pyspark.sql import SparkSession
from small_trial import Outcome
from witness import WITNESS, Handed, read_ledger

from analysis.contract.trials import TrialRecord
from analysis.tables.build import build_tables
from emulator.contract import registry
from emulator.contract.registry import SYSTEMS
from emulator.experiment.file.spec import SystemSpec, TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.tables import Plan
from emulator.experiment.run.directory import RunDirectory, TrialDirectory
from emulator.experiment.run.fidelity import Fidelity
from emulator.layouts.layout import lay_out
from emulator.telemetry import names

OWN_SYSTEMS = [name for name, entry in registry._systems().items() if not entry.package]
"""Those of Trellis itself, whatever toys tests have added."""
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
}
DOMAINS = {"price": [0.0, 100.0], "size": [0.0, 100.0]}
PARAMETERS: dict[str, dict[str, Any]] = {
    "li": {"attributes": DOMAINS, "capacity": [5, 9]},
    "kyra": {"attributes": DOMAINS},
    "siena": {"attributes": DOMAINS},
    "groups": {"attributes": DOMAINS},
}
"""Of systems that need some."""


SLOW = {"kyra", "magnet-pastry"}
"""Systems that hardly deliver to peers that stay for 20 s, so that there would be nothing to compare."""


def spec_of(system: str, ledger: Path, peers: int, measure: str = "30 s", **fields: Any) -> TrialSpec:
    """A trial under churn, with some loss and messages that overtake each other."""
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
class Trial:
    """A finished trial."""

    spec: TrialSpec
    outcome: Outcome
    handed: list[Handed]

    def check_spans(self) -> None:
        """Each delivery is told by one span, and no span tells of another."""
        assert without_time(told(self.outcome)) == without_time(self.handed)

    def record(self) -> TrialRecord:
        """The trial as the analysis sees it."""
        directory = self.outcome.directory
        fidelity = json.loads(directory.fidelity.read_text())
        return TrialRecord(directory.path.name, "", {}, self.spec, directory, {}, fidelity)


def run_trial(
    spec: TrialSpec, run: RunDirectory, execute: Callable[[TrialSpec, Plan, TrialDirectory], Fidelity]
) -> Trial:
    """Draw the plan of a trial of a witness and execute it."""
    parameters = spec.system.parameters
    directory = run.trial(f"{parameters['of']}-1")
    directory.path.mkdir(parents=True)
    plan = draw_plan(spec)
    plan.write(directory.plan)
    fidelity = execute(_laid_out(spec, plan), plan, directory)
    fidelity.write(directory.fidelity)
    return Trial(spec, Outcome(directory, fidelity), read_ledger(Path(parameters["ledger"])))


def _laid_out(spec: TrialSpec, plan: Plan) -> TrialSpec:
    """The spec with what is laid out for the system that the witness runs."""
    witness = spec.system.parameters
    own = {"name": witness["of"], "parameters": witness["parameters"]}
    inner = lay_out(spec.model_copy(update={"system": SystemSpec.model_validate(own)}), plan)
    parameters = witness | {"parameters": inner.system.parameters}
    return spec.model_copy(update={"system": spec.system.model_copy(update={"parameters": parameters})})


def told(outcome: Outcome) -> list[Handed]:
    """What telemetry says that applications were handed."""
    found = []
    for span in outcome.spans:
        marks = span.attributes
        if marks.get(names.DELIVERED) and (names.EVENT in marks or names.LOOKUP in marks):
            what, key = ("event", names.EVENT) if names.EVENT in marks else ("lookup", names.LOOKUP)
            found.append(Handed(what, marks[key], marks[names.PEER], marks[names.HOPS], span.end))
    return found


def without_time(handed: list[Handed]) -> Counter[tuple[str, int, int, int]]:
    return Counter((each.what, each.number, each.peer, each.hops) for each in handed)


def check_tables(spark: SparkSession, run: RunDirectory, trials: list[Trial]) -> None:
    """The tables of all these trials tell of what applications were handed, one by one, and nothing else."""
    build_tables(spark, run, [trial.record() for trial in trials])
    deliveries, lookups = _rows(run, "deliveries"), _rows(run, "lookups")
    for trial in trials:
        name = trial.outcome.directory.path.name
        events = {
            (row["event"], row["peer"]): (row["hops"], row["repeated"] + 1)
            for row in deliveries
            if row["trial"] == name and row["delivered"]
        }
        ends = {
            row["lookup"]: (row["peer"], row["hops"], row["copies"])
            for row in lookups
            if row["trial"] == name and row["copies"]
        }
        first: dict[tuple[str, int, int], Handed] = {}
        counts: Counter[tuple[str, int, int]] = Counter()
        for each in sorted(trial.handed, key=lambda each: each.at):
            where = each.what, each.number, each.peer if each.what == "event" else -1
            first.setdefault(where, each)
            counts[where] += 1
        assert events == {
            (each.number, each.peer): (each.hops, counts[where])
            for where, each in first.items()
            if each.what == "event"
        }, name
        assert ends == {
            each.number: (each.peer, each.hops, counts[where])
            for where, each in first.items()
            if each.what == "lookup"
        }, name
        assert events or ends


def _rows(run: RunDirectory, table: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = ds.dataset(run.tables / table, partitioning="hive").to_table().to_pylist()
    return rows
