"""Regions that the network has beside its latencies: an experiment names them, and delays do not depend on
them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from test_experiment_load import problems
from typer.testing import CliRunner

from emulator.experiment.file.load import load
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.plan.tables import Plan
from emulator.experiment.run.runs import make_run
from emulator.runtime.plan_script import faults_hit, network_of, second_sides
from emulator.trials.sweep import run_sweep
from trellis.command.cli import app

REGIONS = [{"name": "eu", "share": 0.5}, {"name": "us", "share": "30 %"}, {"name": "asia", "share": 0.2}]
EXAMPLE = """\
name: a-network-that-behaves-like-one
system: scribe-pastry
peers: 20
network:
  regions: [{name: eu, share: 0.5}, {name: us, share: 0.5}]
  latency: {kind: constant, rtt: 50 ms}
  bandwidth: {up: 20 Mbit/s, down: 100 Mbit/s, queue: 100 ms}
faults:
  - {name: split, partition: {share: 0.5}, at: 40 s, for: 10 s}
  - {name: brownout, links: {between: [eu, us], delay: 200 ms, loss: 5 %}, at: 80 s, for: 20 s}
  - {name: stopped, pause: {share: 0.1}, at: 120 s, for: 16 s}
attackers: {share: 0.2, behaviour: black-hole}
expect:
  - duplicates == 0
  - hit_ratio >= 0.99 from 10 s after split
workload: {subscriptions: {kind: random, topics: 5, per_peer: 2, buckets: 1}, publications: {events: 50}}
phases: {join: 10 s, settle: 20 s, measure: 110 s, drain: 10 s}
"""


def spec(peers: int = 50, seed: int = 1, **fields: Any) -> TrialSpec:
    network = {"latency": {"kind": "constant", "rtt": "50 ms"}, "regions": REGIONS}
    lookups = {"system": {"name": "chord"}, "workload": {"lookups": {"rate": 1}}}
    return TrialSpec.model_validate(lookups | {"peers": peers, "network": network, "seed": seed} | fields)


def regions_of(plan: Plan) -> list[str]:
    regions: list[str] = plan.peers["region"].to_pylist()
    return regions


def test_the_example_with_partition_worse_links_pause_and_attackers_runs_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "example.yaml"
    file.write_text(EXAMPLE)
    told = CliRunner().invoke(app, ["validate", str(file)])
    assert told.exit_code == 0, told.output
    asked = load(file)
    run = make_run(asked, tmp_path / "run")
    (outcome,) = run_sweep(run, asked, 1, lambda update: None)
    assert outcome.state == "valid", outcome.reasons
    trial = run.trial(outcome.trial)
    faults = {each["name"]: each for each in trial.read_fidelity()["faults"]}
    assert list(faults) == ["split", "brownout", "stopped", "attack"]
    assert faults["split"]["messages"]["stopped"] and faults["brownout"]["messages"]["delayed"]
    assert faults["attack"]["messages"]["dropped"]
    assert Counter(regions_of(Plan.read(trial.plan))) == {"eu": 10, "us": 10}


def test_peers_are_in_regions_by_their_shares_whatever_the_latency_is() -> None:
    plan = draw_plan(spec())
    assert Counter(regions_of(plan)) == {"eu": 25, "us": 15, "asia": 10}
    assert regions_of(draw_plan(spec(seed=2))) != regions_of(plan)
    network = network_of(spec(), plan)
    assert {network.one_way(0, peer) for peer in range(1, 50)} == {0.025}


def test_regions_change_nothing_else_of_a_plan() -> None:
    plain = draw_plan(spec(network={"latency": {"kind": "king", "hosts": 20}}))
    named = draw_plan(spec(network={"latency": {"kind": "king", "hosts": 20}, "regions": REGIONS}))
    assert named.peers.drop_columns("region").equals(plain.peers)
    assert named.sessions.equals(plain.sessions) and named.tables == plain.tables


def test_faults_churn_and_workload_name_them() -> None:
    asked = spec(
        faults=[
            {"name": "slow", "at": "20 s", "for": "5 s", "links": {"between": ["eu", "us"], "delay": "1 s"}},
            {"name": "dark", "at": "30 s", "for": "5 s", "pause": {"region": "asia"}},
        ],
        churn={"crash": {"at": "50 s", "share": 1.0, "region": "us"}},
        workload={"lookups": {"rate": 5, "region": "eu"}},
    )
    plan = draw_plan(asked)
    region = regions_of(plan)
    slow, dark = faults_hit(asked, plan)
    assert {region[peer] for peer in dark} == {"asia"} and len(dark) == 10
    assert {region[peer] for peer in slow} == {"eu", "us"}
    assert {region[peer] for peer in second_sides(asked, plan)[0]} == {"us"}
    gone = [row["peer"] for row in plan.sessions.to_pylist() if row["end_s"] == 50.0]
    assert {region[peer] for peer in gone} == {"us"} and len(gone) == 15
    assert {region[peer] for peer in plan.tables["lookups"]["peer"].to_pylist()} == {"eu"}


def test_identities_of_one_attacker_are_in_one_region() -> None:
    attackers = {"number": 12, "behaviour": "black-hole", "identities": 4}
    plan = draw_plan(spec(attackers=attackers))
    posing = [row["region"] for row in plan.peers.to_pylist() if row["attacker"]]
    assert all(len(set(posing[first : first + 4])) == 1 for first in (0, 4, 8))
    assert len(set(posing)) > 1


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "  regions: [{name: eu, share: 0.5}, {name: us, share: 0.5}]\n",
            "",
            "faults[1].links.between: the network has no regions. Write `network.regions`, such as "
            "[{name: eu, share: 0.5}, {name: us, share: 0.5}]",
        ),
        (
            "between: [eu, us]",
            "between: [eu, mars]",
            'there is no region "mars". There are: eu, us. Name one',
        ),
        ("{name: us, share: 0.5}", "{name: us, share: 0.4}", "network.regions: the shares add up to 0.9"),
        ("{name: us, share: 0.5}", "{name: eu, share: 0.5}", 'network.regions: the name "eu" is there twice'),
        (
            "{kind: constant, rtt: 50 ms}",
            "{kind: regions, regions: [{name: eu, share: 0.5}, {name: us, share: 0.5}], "
            "rtt: {eu: {eu: 1 ms, us: 9 ms}, us: {us: 1 ms}}}",
            "network.regions: the latency has regions of its own. Leave these out",
        ),
    ],
)
def test_regions_that_cannot_be_are_refused(tmp_path: Path, old: str, new: str, told: str) -> None:
    file = tmp_path / "example.yaml"
    assert old in EXAMPLE
    file.write_text(EXAMPLE.replace(old, new))
    found = problems(file)
    assert told in found[0], found


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("up: 20 Mbit/s", "up: 20 Mbps", "network.bandwidth.up: "),
        ("up: 20 Mbit/s", "upload: 20 Mbit/s", 'The rates are "up" and "down", such as up: 20 Mbit/s'),
        ("rtt: 50 ms", "delay: 50 ms", 'the key is "rtt", which is twice the one-way delay'),
        ("{kind: constant, rtt: 50 ms}", "50 ms", "Write {kind: constant, rtt: 50 ms}"),
        ("{kind: constant, rtt: 50 ms}", "gml", "Write kind: graph beside its keys"),
        ("delay: 200 ms", "latency: 200 ms", 'in addition is "delay", such as delay: 200 ms'),
        ("delay: 200 ms", "delay: -200 ms", "a duration is not negative"),
        ("for: 10 s", "duration: 10 s", "It begins `at` a time and lasts `for` some time"),
        ("behaviour: black", "behavior: black", 'Did you mean "behaviour"?'),
        (
            "{name: split, ",
            "{name: split, crash: {share: 0.1}, ",
            "Write a fault for each: partition and crash",
        ),
    ],
)
def test_a_mistake_is_told_once_and_with_what_to_write(tmp_path: Path, old: str, new: str, told: str) -> None:
    file = tmp_path / "example.yaml"
    assert old in EXAMPLE
    file.write_text(EXAMPLE.replace(old, new, 1))
    (found,) = problems(file)
    assert told in found
