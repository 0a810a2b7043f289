"""GossipSub in a network on the virtual clock: what arrives, at what cost, with loss and attackers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from small_trial import Outcome, expected, run

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan

PEERS = 40
ATTACKERS = 12


def trial(path: Path, **fields: Any) -> tuple[Outcome, set[tuple[int, int]]]:
    """Run a trial of 40 peers in one topic. Returns it with who that behaves well was to get each event."""
    parameters = {"version": "1.1"} | fields.pop("parameters", {})
    network = {"latency": {"kind": "king", "hosts": PEERS}} | fields.pop("network", {})
    publications = {"events": 20} | fields.pop("publications", {})
    spec = TrialSpec.model_validate(
        {
            "system": {"name": "gossipsub", "parameters": parameters},
            "peers": PEERS,
            "network": network,
            "workload": {
                "subscriptions": {
                    "kind": "random",
                    "topics": 1,
                    "per_peer": 1,
                    "buckets": 1,
                    "within": "0 s",
                },
                "publications": publications,
            },
            "phases": {"join": "1 s", "settle": "8 s", "measure": "5 s", "drain": "8 s"},
        }
        | fields
    )
    plan = draw_plan(spec)
    bad = {row["peer"] for row in plan.peers.to_pylist() if row["attacker"]}
    return run(spec, plan, path), {(event, peer) for event, peer in expected(plan) if peer not in bad}


def copies(outcome: Outcome) -> int:
    """Return the copies of messages that arrived."""
    return sum(span.name == "TopicMessage" for span in outcome.spans)


@pytest.mark.parametrize("version", ["1.0", "1.2"])
def test_on_a_quiet_network_every_subscriber_gets_every_event_once(version: str, tmp_path: Path) -> None:
    outcome, due = trial(tmp_path, parameters={"version": version})
    assert len(due) > 700
    assert set(outcome.deliveries()) == due
    assert set(outcome.deliveries().values()) == {1}


def test_gossip_makes_lost_messages_good(tmp_path: Path) -> None:
    network = {"latency": {"kind": "king", "hosts": PEERS}, "jitter": "20 ms", "loss": 0.2}
    thin = {"version": "1.0", "degree": 3, "degree_low": 2, "degree_high": 4}
    found = {}
    for lazy in (6, 0):
        outcome, due = trial(tmp_path / str(lazy), parameters={**thin, "degree_lazy": lazy}, network=network)
        found[lazy] = len(set(outcome.deliveries()) & due) / len(due)
        assert set(outcome.deliveries().values()) == {1}
    assert found[6] > 0.998
    assert found[0] < 0.98


def test_idontwant_saves_copies_of_large_messages(tmp_path: Path) -> None:
    found = {}
    for version in ("1.1", "1.2"):
        outcome, _ = trial(
            tmp_path / version,
            parameters={"version": version, "flood_publish": False},
            network={"bandwidth": {"up": "50 Mbit/s", "down": "50 Mbit/s", "queue": "60 s"}},
            publications={"events": 6, "payload_bytes": 128_000},
        )
        found[version] = copies(outcome)
    assert found["1.2"] < 0.85 * found["1.1"]


def test_honest_peers_deliver_around_sybils_that_withhold_messages(tmp_path: Path) -> None:
    attackers = {"number": ATTACKERS, "behaviour": {"kind": "mesh-sybil", "target": 3}}
    outcome, due = trial(tmp_path, attackers=attackers)
    assert set(outcome.deliveries()) >= due


def test_garbage_is_not_delivered_because_its_signature_is_wrong(tmp_path: Path) -> None:
    attackers = {"number": ATTACKERS, "behaviour": {"kind": "garbage", "every": "1 ms"}}
    outcome, due = trial(tmp_path, attackers=attackers)
    assert set(outcome.deliveries()) >= due
    assert outcome.fidelity.valid
