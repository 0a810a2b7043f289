"""Three faults that a package plants in systems of Trellis are found by a campaign, and made small."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import planted_faults
import pytest
import small_trial

from emulator.contract.registry import SYSTEMS
from emulator.contract.system import System
from emulator.experiment.file.draws import draw
from emulator.experiment.file.load import load
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.file.variants import trials
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.undrawable import Undrawable
from trellis.campaign.cuts import Values
from trellis.campaign.shrinking import shrink

TESTS = Path(__file__).parent
CHORD = {"stabilization": "2 s", "timeout": "1 s", "successors": 4, "merge": True}
_AT = {"from": "20 s", "to": "30 s"}
RANGES: dict[str, Any] = {
    "peers": {"from": 12, "to": 24},
    "network.loss": [0.0, "1 %"],
    "faults": {
        "number": [0, 3],
        "of": [
            {"at": _AT, "for": "15 s", "crash": {"share": {"from": 0.1, "to": 0.4}}},
            {"at": _AT, "for": "15 s", "links": {"share": 0.3, "delay": "100 ms"}},
            {
                "at": _AT,
                "for": "15 s",
                "partition": {"share": {"from": 0.2, "to": 0.5}, "senders": "told"},
            },
        ],
    },
}
VALUES = {"values": {"count": 20, "gets": 0.1}}
TREES = {
    "subscriptions": {"kind": "random", "topics": planted_faults.TOPICS, "per_peer": 2, "buckets": 1},
    "publications": {"events": 1},
}
LOOKUPS = {"lookups": {"rate": 0.5}}


@pytest.mark.parametrize(
    ("planted", "sound", "parameters", "workload"),
    [
        (planted_faults.VALUES, "values-chord", {"replicas": 2, "repair": "5 s", "overlay": CHORD}, VALUES),
        (planted_faults.TREES, "scribe-chord", {"overlay": CHORD}, TREES),
        (planted_faults.LOOKUPS, "chord", CHORD, LOOKUPS),
    ],
    ids=["lost hand-over", "stale root", "count that is not bounded"],
)
def test_planted_faults_are_found_and_made_small(
    planted: System,
    sound: str,
    parameters: dict[str, Any],
    workload: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(SYSTEMS, planted.name, planted)
    monkeypatch.setitem(SYSTEMS, sound, replace(SYSTEMS[sound], invariants=planted.invariants))
    base = small_trial.trial_spec(
        planted.name,
        20,
        50.0,
        workload=workload,
        invariants={"every": "500 ms", "stop": True},
        phases={"join": "5 s", "settle": "10 s", "measure": "60 s", "drain": "0 s"},
    ).model_dump(mode="json") | {"system": {"name": planted.name, "parameters": parameters}}
    ran: list[int] = []

    def fails(values: Values) -> bool | None:
        spec = TrialSpec.model_validate_json(json.dumps(values))
        try:
            plan = draw_plan(spec)
        except Undrawable:
            return None
        ran.append(1)
        outcome = small_trial.run(spec, plan, tmp_path / str(len(ran)))
        found: dict[str, Any] = json.loads(outcome.directory.invariants.read_text())
        return bool(found["broken"])

    for seed in range(1, 101):
        drawn = draw(RANGES, Random(seed))
        values = base | {"seed": seed, "peers": drawn["peers"], "faults": drawn["faults"]}
        values["network"] = base["network"] | {"loss": 0.01 if drawn["network.loss"] else 0.0}
        if fails(values):
            break
    else:
        pytest.fail("it was not found within 100 trials")
    before = len(ran)
    found = shrink(values, fails, 200, lambda word: None)
    assert found.is_least and found.tried == len(ran) - before
    left = found.values
    assert left["peers"] <= 10 and len(left["faults"]) <= 2
    assert fails(left)
    assert not fails(left | {"system": left["system"] | {"name": sound}}), "the fault is the package's"


FILE = f"""\
name: looks
system: {{name: {planted_faults.LOOKUPS.name}, parameters: {{stabilization: 2 s, timeout: 1 s, merge: true}}}}
peers: 12
draw:
  peers: {{from: 11, to: 12}}
  faults:
    number: [1, 1]
    of: [{{at: 30 s, for: 25 s, partition: {{share: {{from: 0.4, to: 0.5}}, senders: told}}}}]
workload: {{lookups: {{rate: 0.5}}}}
invariants: {{every: 1 s}}
phases: {{join: 10 s, settle: 10 s, measure: 40 s, drain: 0 s}}
"""


def test_the_command_finds_a_fault_of_a_package_and_its_small_experiment_fails_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "looks.yaml").write_text(FILE)
    planted = planted_faults.LOOKUPS
    info = tmp_path / "planted-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(f"[trellis.systems]\n{planted.name} = planted_faults:LOOKUPS\n")
    path = os.pathsep.join(map(str, (tmp_path, TESTS.parent, TESTS)))
    command = [sys.executable, "-c", "from trellis.command.cli import main; main()"]
    done = subprocess.run(
        [*command, "campaign", "looks.yaml", "--trials", "2", "--shrink", "1", "--budget", "4"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path, "COLUMNS": "300"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 3, done.stderr
    (small,) = (tmp_path / "runs").glob("looks-*/smaller/*.yaml")
    said = " ".join(done.stdout.split())
    assert "not as expected: unbounded, in 2 of 2 trials" in said
    assert "breaks unbounded with" in said
    assert said.endswith(f"trellis run {small.relative_to(tmp_path)}")
    assert "all measures of these trials, and their report: trellis analyze runs/looks-" in said
    assert "4 trials tried, which is the budget: more may be left out. Raise --budget" in done.stderr
    monkeypatch.setitem(SYSTEMS, planted.name, planted)
    spec = trials(load(small))[0].spec
    assert spec.peers < 11 and len(spec.faults) == 1
    outcome = small_trial.run(spec, draw_plan(spec), tmp_path / "again")
    found = json.loads(outcome.directory.invariants.read_text())
    assert found["broken"][0]["invariant"] == "unbounded"
    assert outcome.fidelity.valid and len(found["broken"]) > 1, "it runs to its end"
