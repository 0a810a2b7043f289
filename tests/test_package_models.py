"""Models of churn, latency, jitter and loss, and memberships, that packages add."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from forked_programs import run_program
from numpy.typing import NDArray
from test_packages import EXPERIMENT, ROOT, install, trellis

from emulator.network.build_network import build_network, checked_matrix
from emulator.network.model import LatencyModel
from emulator.network.spec import NetworkSpec

__all__ = ["install", "trellis"]

MODELS = '''\
from typing import Literal
import numpy as np
from emulator.churn.model import ChurnModel
from emulator.contract.system import MembershipKind
from emulator.network.model import Jitter, JitterModel, LatencyModel, Loss, LossModel
from emulator.protocols.overlays.random_graph.membership import RandomGraph
from emulator.protocols.overlays.random_graph.parameters import RandomGraphParameters


class Shifts(ChurnModel):
    """Half of the peers come when the other half leaves."""

    kind: Literal["shifts"] = "shifts"
    change: float = 50.0

    def draw(self, peers, trial_end, random):
        late = np.arange(peers) % 2 == 1
        numbers = np.arange(peers, dtype=np.int32)
        return numbers, np.where(late, self.change, 0.0), np.where(late, np.inf, self.change)

    def problems(self, peers, trial_end):
        return [("change", "comes after the trial")] if self.change > trial_end else []


class Line(LatencyModel):
    """Places on a line, 10 ms from each to the next."""

    kind: Literal["line"] = "line"
    places: int = 5

    def host_count(self):
        return self.places

    def matrix(self, seed):
        at = np.arange(self.places, dtype=np.float32)
        return np.abs(at[:, None] - at[None, :]) * np.float32(0.010)


class _Steady(Jitter):
    def draw(self, sender, receiver, random):
        return 0.5


class Steady(JitterModel):
    kind: Literal["steady"] = "steady"

    def begin(self):
        return _Steady()


class _Every(Loss):
    def __init__(self, nth):
        self.nth = nth
        self.sent = {}

    def hits(self, sender, receiver, random):
        self.sent[sender, receiver] = self.sent.get((sender, receiver), 0) + 1
        return self.sent[sender, receiver] % self.nth == 0


class Every(LossModel):
    kind: Literal["every"] = "every"
    nth: int

    def begin(self, seed):
        return _Every(self.nth)


RING = MembershipKind(
    "acme-graph", "An acme graph", "none", RandomGraphParameters, RandomGraph, short_title="acme's graph"
)
'''
ENTRIES = """\
[trellis.churn]
shifts = acme:Shifts
broken = acme:Gone
[trellis.latency]
line = acme:Line
king = acme:Line
[trellis.jitter]
steady = acme:Steady
[trellis.loss]
every = acme:Every
steady = acme:Steady
[trellis.memberships]
acme-graph = acme:RING
"""
PHASES = "phases: {join: 5 s, settle: 15 s, measure: 60 s, drain: 10 s}\n"


TRIAL = """
import json, sys
from pathlib import Path
from random import Random
from emulator.experiment.file.load import load
from emulator.experiment.file.variants import variants
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.run.directory import TrialDirectory
from emulator.network.build_network import build_network
from emulator.runtime.virtual.run_virtual import run_virtual

spec = variants(load(Path(sys.argv[1]), []))[0].spec
plan = draw_plan(spec)
network = build_network(spec.network, plan.peers["location"].to_pylist(), spec.seed)
fidelity = run_virtual(spec, plan, TrialDirectory(Path(sys.argv[2])), lambda progress: None)
print(json.dumps({
    "sessions": plan.sessions.to_pylist(),
    "locations": sorted(set(network.locations)),
    "delays": [network.delay(0, peer, Random(1)) for peer in range(spec.peers) for _ in range(7)],
    "messages": fidelity.measured["messages"],
}))
"""


@pytest.fixture
def validate(install, trellis, tmp_path: Path):
    """Checks an experiment with these lines in its file; gives what the command did."""
    install("acme", ENTRIES, MODELS)

    def _validate(lines: str):
        (tmp_path / "models.yaml").write_text(EXPERIMENT.replace("NAME", "vitis") + lines)
        return trellis("validate", "models.yaml")

    return _validate


@pytest.fixture
def run(install, tmp_path: Path):
    """Runs a small trial with these lines in its file; gives what its plan, network and loop were."""
    install("acme", ENTRIES, MODELS)

    def _run(lines: str, system: str = "vitis") -> dict[str, Any]:
        experiment = tmp_path / "models.yaml"
        experiment.write_text(EXPERIMENT.replace("NAME", system) + PHASES + lines)
        environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
        trial = tmp_path / "run" / "trials" / "one"
        trial.mkdir(parents=True)
        done = run_program(TRIAL, [str(experiment), str(trial)], tmp_path, environment, limit=100)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return _run


def test_models_of_a_package_are_drawn_into_the_plan_and_hold_in_the_trial(run):
    found = run(
        "churn: {model: {kind: shifts, change: 40}}\n"
        "network: {latency: {kind: line, places: 3}, jitter: {kind: steady}, loss: {kind: every, nth: 7}}\n"
    )
    assert {row["end_s"] for row in found["sessions"] if row["peer"] % 2 == 0} == {40.0}
    assert {row["start_s"] for row in found["sessions"] if row["peer"] % 2 == 1} == {40.0}
    assert found["locations"] == [0, 1, 2]
    arrived = [delay for delay in found["delays"] if delay is not None]
    assert {round(delay, 4) for delay in arrived} <= {0.5005, 0.505, 0.51}
    assert len(arrived) == 6 / 7 * len(found["delays"])
    assert found["messages"] > 0


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("churn: {model: {kind: shifts, change: 9000}}\n", "churn.model.change: comes after the trial"),
        ("churn: {model: {kind: shifts, chance: 9}}\n", "churn.model.chance: is not a known key"),
        ("churn: {model: {kind: broken}}\n", 'churn.model: "kind" is "broken", but the package acme 1.2'),
        ("network: {loss: {kind: steady}}\n", "it is no subclass of LossModel"),
        ("network: {loss: {kind: every}}\n", "network.loss.nth: is missing"),
        ("network: {loss: 7}\n", "network.loss: is 7, but has to be below 1"),
        ("network: {jitter: 2 h}\n", 'network.jitter: is "2 h", but has to be at most 3600 s'),
        ("network: {jitter: {kind: unsteady}}\n", '"kind" is "unsteady". Did you mean "steady"?'),
    ],
)
def test_bad_keys_of_a_package_s_models_are_told_by_file_and_line(validate, lines, told):
    done = validate(PHASES + lines)
    assert done.returncode == 2
    assert f"models.yaml:{EXPERIMENT.count(chr(10)) + 2}: " in done.stderr
    assert told in done.stderr


class Crooked(LatencyModel):
    kind: Literal["crooked"] = "crooked"
    made: list[list[float]]

    def host_count(self) -> int:
        return 2

    def matrix(self, seed: int) -> NDArray[np.float32]:
        return np.array(self.made, np.float32)


class Exact(Crooked):
    def matrix(self, seed: int) -> NDArray[np.float64]:
        return np.array(self.made)


def test_a_matrix_of_64_bits_gives_its_delays_as_they_are():
    spec = NetworkSpec().model_copy(update={"latency": Exact(made=[[0, 0.1], [0.1, 0]])})
    assert build_network(spec, [0, 1], seed=1).one_way(0, 1) == 0.05


@pytest.mark.parametrize("made", [[[0, 1]], [[0, -1], [1, 0]], [[0, float("nan")], [1, 0]]])
def test_a_matrix_that_no_network_can_have_is_told_with_its_kind(made):
    with pytest.raises(ValueError, match=r"network\.latency: kind crooked made"):
        checked_matrix(Crooked(made=made), seed=1)


def test_systems_that_only_need_neighbours_run_on_a_membership_of_a_package(run):
    assert run("", system="quasar-acme-graph")["messages"] > 0


FAILING = """\
from typing import Literal
import numpy as np
from emulator.churn.model import ChurnModel
from emulator.contract.system import OverlayKind
from emulator.contract.workload import WorkloadKind
from emulator.network.model import LatencyModel
from pydantic import BaseModel, ConfigDict

def fail(how):
    if how == "raise":
        raise RuntimeError("boom")
    if how == "exit":
        raise SystemExit(3)
    return 5

class Failing(ChurnModel):
    kind: Literal["failing"] = "failing"
    draws: str = ""
    checks: str = ""

    def draw(self, peers, trial_end, random):
        return fail(self.draws)

    def problems(self, peers, trial_end):
        return fail(self.checks) if self.checks else []

class Places(LatencyModel):
    kind: Literal["failing"] = "failing"
    makes: str = ""

    def host_count(self):
        return 4 if self.makes else fail("raise")

    def matrix(self, seed):
        return np.full((4, 4), np.nan) if self.makes == "nan" else fail(self.makes)

class Needing(BaseModel):
    model_config = ConfigDict(extra="forbid")
    depth: int

NEEDING = OverlayKind("needing", "An overlay", "none", Needing, print)
"""
OF_ACME = "the package acme 1.2: "
BOOM = r"RuntimeError: boom; .*acme\.py, line \d+, in fail: raise RuntimeError"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ("churn.model={kind: failing, draws: raise}", f"{OF_ACME}Failing drew no peers.*: {BOOM}"),
        ("churn.model={kind: failing, draws: exit}", f"{OF_ACME}Failing drew no peers.*: SystemExit: 3"),
        ("churn.model={kind: failing, draws: five}", f"{OF_ACME}Failing drew no peers.*: TypeError"),
        ("churn.model={kind: failing, checks: raise}", f"{OF_ACME}Failing could not check .*: {BOOM}"),
        ("churn.model={kind: failing, checks: five}", f"{OF_ACME}Failing could not check .*: TypeError"),
        ("network.latency=failing", f"{OF_ACME}Places counted no hosts: {BOOM}"),
        ("network.latency={kind: failing, makes: exit}", f"{OF_ACME}Places told no facts.*: SystemExit: 3"),
        ("network.latency={kind: failing, makes: nan}", "network.latency: an RTT is below 0, or no number"),
        ("system.name=needing", "its parameter depth has no default. Give it one"),
        ("system.name=scribe-needing", "its parameter depth has no default. Give it one"),
    ],
)
def test_the_code_of_a_package_that_fails_in_a_check_is_named_with_its_line(
    install, trellis, change: str, complaint: str
) -> None:
    entries = "[trellis.churn]\nfailing = acme:Failing\n[trellis.latency]\nfailing = acme:Places\n"
    install("acme", f"{entries}[trellis.overlays]\nneeding = acme:NEEDING\n", FAILING)
    told = trellis("validate", "small.yaml", "--set", change)
    assert told.returncode == 2
    assert re.search(complaint, told.stderr), told.stderr
    assert "Traceback" not in told.stderr
