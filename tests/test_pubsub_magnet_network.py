"""Magnet in a network on the virtual clock: what arrives, also with jitter and loss, and at what cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from small_trial import Outcome, expected, run

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan

PEERS = 60


def trial(
    path: Path, system: str = "magnet-small-world", **fields: Any
) -> tuple[Outcome, set[tuple[int, int]]]:
    """Run a trial of 60 peers, and return who was to get each event."""
    parameters = {"interest": {"long_links": 6, "rewire": "10 s"}} | fields.pop("parameters", {})
    network = {"latency": {"kind": "king", "hosts": PEERS}} | fields.pop("network", {})
    events = fields.pop("events", 100)
    spec = TrialSpec.model_validate(
        {
            "system": {"name": system, "parameters": parameters},
            "peers": PEERS,
            "network": network,
            "workload": {
                "subscriptions": {
                    "kind": "multi-modal",
                    "topics": 20,
                    "categories": 4,
                    "per_peer": 4,
                    "within": "0 s",
                },
                "publications": {"events": events, "publisher": "any"},
            },
            "phases": {"join": "20 s", "settle": "60 s", "measure": "20 s", "drain": "10 s"},
        }
        | fields
    )
    plan = draw_plan(spec)
    return run(spec, plan, path), expected(plan)


@pytest.mark.parametrize("system", ["magnet-pastry", "magnet-small-world"])
@pytest.mark.parametrize("placement", ["similar", "hashed"])
def test_on_a_quiet_network_every_subscriber_gets_every_event_once(
    system: str, placement: str, tmp_path: Path
) -> None:
    outcome, due = trial(tmp_path, system, parameters={"placement": placement})
    assert len(due) > 500
    assert set(outcome.deliveries()) == due
    assert set(outcome.deliveries().values()) == {1}


def test_similar_peers_next_to_each_other_save_relays(tmp_path: Path) -> None:
    relayed = {
        placement: trial(tmp_path / placement, parameters={"placement": placement})[0].relayed()
        for placement in ("similar", "hashed")
    }
    assert relayed["similar"] < 0.7 * relayed["hashed"]


def test_jitter_alone_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    outcome, due = trial(tmp_path, network={"jitter": "20 ms"})
    assert set(outcome.deliveries()) == due
    assert set(outcome.deliveries().values()) == {1}


def test_with_lost_messages_trees_stay_whole(tmp_path: Path) -> None:
    """An event is sent down each link once, so what is lost on the way is missed below; nothing else is."""
    outcome, due = trial(tmp_path, network={"jitter": "20 ms", "loss": 0.01}, events=400)
    deliveries = outcome.deliveries()
    assert set(deliveries) <= due
    assert set(deliveries.values()) == {1}
    assert len(deliveries) / len(due) > 0.93
