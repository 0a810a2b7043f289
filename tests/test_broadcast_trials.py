"""Small trials: what broadcasts keep with loss, jitter and reordering, and after a partition."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from small_trial import Outcome, run

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan

MEMBERSHIP = {"period": "1 s"}
PEERS = 40


def trial(path: Path, system: str, membership: dict[str, Any], **fields: Any) -> Outcome:
    """Run a trial of one message a second, over a membership with these parameters."""
    given = {
        "system": {"name": system, "parameters": {"membership": MEMBERSHIP | membership}},
        "peers": PEERS,
        "workload": {"broadcast": {"rate": 1, "spacing": "even"}},
        "network": {"latency": {"kind": "constant", "rtt": "100 ms"}},
        "phases": {"join": "2 s", "settle": "15 s", "measure": "10 s", "drain": "10 s"},
    }
    spec = TrialSpec.model_validate(given | fields)
    return run(spec, draw_plan(spec), path)


@pytest.mark.parametrize("system", ["plumtree-hyparview", "plumtree-cyclon", "anti-entropy-newscast"])
def test_with_loss_jitter_and_reordering_all_get_each_message_once(tmp_path: Path, system: str) -> None:
    network = {"latency": {"kind": "constant", "rtt": "100 ms"}, "jitter": "30 ms", "loss": 0.05}
    found = trial(tmp_path, system, {}, network=network)
    assert found.deliveries() == Counter(found.deliveries().keys())
    assert len(found.deliveries()) == 10 * (PEERS - 1)


@pytest.mark.parametrize("loss", [0, 0.1])
def test_gossipsub_brings_each_message_to_all_peers_once_and_gossip_brings_what_was_lost(
    tmp_path: Path, loss: float
) -> None:
    spec = TrialSpec.model_validate(
        {
            "system": {"name": "gossipsub-broadcast"},
            "peers": PEERS,
            "workload": {"broadcast": {"rate": 1, "spacing": "even"}},
            "network": {"latency": {"kind": "constant", "rtt": "100 ms"}, "loss": loss},
            "phases": {"join": "2 s", "settle": "30 s", "measure": "10 s", "drain": "10 s"},
        }
    )
    found = run(spec, draw_plan(spec), tmp_path)
    assert found.deliveries() == Counter(found.deliveries().keys())
    assert len(found.deliveries()) == 10 * (PEERS - 1)


@pytest.mark.parametrize(("cut", "reached"), [(4, PEERS - 1), (60, PEERS // 2 - 1)])
def test_a_short_partition_is_harmless_to_cyclon_and_a_long_one_splits_it_for_good(
    tmp_path: Path, cut: int, reached: int
) -> None:
    settle = 20 + cut + 40
    fault = {"name": "cut", "at": "22 s", "for": f"{cut} s", "partition": {"share": 0.5}}
    found = trial(
        tmp_path,
        "flood-cyclon",
        {"view": 8, "shuffle": 4},
        faults=[fault],
        workload={"broadcast": {"rate": 0.5, "spacing": "even"}},
        phases={"join": "2 s", "settle": f"{settle} s", "measure": "4 s", "drain": "5 s"},
    )
    assert Counter(event for event, _ in found.deliveries()) == {0: reached, 1: reached}
