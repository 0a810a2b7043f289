"""Telemetry tells of each thing that an application was handed, and of nothing else, also under churn."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fleet_toys import PATH
from repairing_toy import REPAIRING
from small_trial import Outcome, run
from witness import WITNESS, Handed, read_ledger

from emulator.experiment.draw import draw_plan
from emulator.experiment.rundir import TrialDirectory
from emulator.experiment.spec import TrialSpec
from emulator.fleet.processes import run_processes
from emulator.telemetry import names

SYSTEMS = [REPAIRING.name]
CHURN = {"model": {"kind": "poisson", "mean_session": "20 s", "mean_gap": "5 s"}, "graceful": 0.7}


def spec_of(system: str, ledger: Path, peers: int, **fields: Any) -> TrialSpec:
    """A trial under churn, with some loss and messages that overtake each other."""
    return TrialSpec.model_validate(
        {
            "system": {"name": WITNESS.name, "parameters": {"of": system, "ledger": str(ledger)}},
            "peers": peers,
            "network": {"jitter": "20 ms", "loss": 0.01, "unreachable_after": "2 s"},
            "workload": {
                "subscriptions": {"kind": "random", "topics": 6, "per_peer": 2, "buckets": 1},
                "publications": {"events": 60},
            },
            "churn": CHURN,
            "phases": {"join": "2 s", "settle": "6 s", "measure": "30 s", "drain": "10 s"},
        }
        | fields
    )


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


@pytest.mark.parametrize("system", SYSTEMS)
def test_on_the_virtual_clock(system: str, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    ledger.mkdir()
    spec = spec_of(system, ledger, peers=40)
    outcome = run(spec, draw_plan(spec), tmp_path / "run")
    handed = read_ledger(ledger)
    assert len(handed) > 300
    assert without_time(told(outcome)) == without_time(handed)
    at = sorted(each.at for each in told(outcome))
    assert at == pytest.approx(sorted(each.at for each in handed), abs=1e-6)


@pytest.mark.parametrize("system", SYSTEMS)
def test_in_real_time_on_two_hosts(system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", PATH)
    ledger = tmp_path / "ledger"
    ledger.mkdir()
    runtime = {"kind": "processes", "hosts": 2, "time_scale": 0.1}
    spec = spec_of(system, ledger, peers=24, runtime=runtime)
    directory = TrialDirectory(tmp_path / "run" / "trials" / "witness-1")
    directory.path.mkdir(parents=True)
    outcome = Outcome(directory, run_processes(spec, draw_plan(spec), directory, lambda progress: None))
    handed = read_ledger(ledger)
    assert len(handed) > 100
    assert without_time(told(outcome)) == without_time(handed)


def test_the_toy_delivers_in_every_way(tmp_path: Path) -> None:
    """On a message's span, beside it, and outside of any operation."""
    ledger = tmp_path / "ledger"
    ledger.mkdir()
    spec = spec_of(REPAIRING.name, ledger, peers=40)
    outcome = run(spec, draw_plan(spec), tmp_path / "run")
    spans = {span.span: span for span in outcome.spans}
    ways = Counter(
        (span.name, spans[span.parent].name if span.parent else "")
        for span in outcome.spans
        if span.attributes.get(names.DELIVERED)
    )
    on_messages = sum(count for (name, _), count in ways.items() if name == "EventData")
    beside_messages = sum(
        n for (name, parent), n in ways.items() if (name, parent) == ("delivery", "EventData")
    )
    alone = ways["delivery", ""]
    assert min(on_messages, beside_messages, alone) > 10, ways
    assert {span.name for span in outcome.spans} >= {"recovery", "Notification", "Pull", "Goodbye"}
