"""Scribe in a network on the virtual clock: what arrives over both overlays, also with jitter and loss."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from small_trial import Outcome, expected, run

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan

PEERS = 60
overlays = pytest.mark.parametrize("overlay", ["pastry", "small-world"])


def trial(
    overlay: str, path: Path, within: str | None = None, **network: Any
) -> tuple[Outcome, set[tuple[int, int]]]:
    """Run a trial of 60 peers, and return who was to get each event."""
    spec = TrialSpec.model_validate(
        {
            "system": {"name": f"scribe-{overlay}"},
            "peers": PEERS,
            "network": {"latency": {"kind": "king", "hosts": PEERS}} | network,
            "workload": {
                "subscriptions": {"kind": "random", "topics": 20, "per_peer": 5, "within": within},
                "publications": {"events": 100, "publisher": "any"},
            },
            "phases": {"join": "5 s", "settle": "40 s", "measure": "30 s", "drain": "15 s"},
        }
    )
    plan = draw_plan(spec)
    return run(spec, plan, path), expected(plan)


@overlays
def test_on_a_quiet_network_every_subscriber_gets_every_event_once(overlay: str, tmp_path: Path) -> None:
    outcome, due = trial(overlay, tmp_path)
    assert len(due) > 1000
    assert set(outcome.deliveries()) == due
    assert set(outcome.deliveries().values()) == {1}


@overlays
def test_jitter_alone_loses_nothing_and_repeats_nothing(overlay: str, tmp_path: Path) -> None:
    outcome, due = trial(overlay, tmp_path, jitter="20 ms")
    assert set(outcome.deliveries()) == due
    assert set(outcome.deliveries().values()) == {1}


@overlays
def test_with_lost_messages_trees_stay_whole(overlay: str, tmp_path: Path) -> None:
    """An event is sent down each link once, so what is lost on the way is missed below; nothing else is."""
    outcome, due = trial(overlay, tmp_path, jitter="20 ms", loss=0.01)
    deliveries = outcome.deliveries()
    assert set(deliveries) <= due
    assert set(deliveries.values()) == {1}
    assert len(deliveries) / len(due) > 0.94


@pytest.mark.parametrize("overlay", ["pastry", "small-world", "oscar", "chord"])
def test_trees_that_grow_together_with_the_overlay_lead_to_their_roots(overlay: str, tmp_path: Path) -> None:
    """Routes that change while peers join leave circles of parents behind, which end."""
    outcome, due = trial(overlay, tmp_path, within="0 s")
    assert set(outcome.deliveries()) == due
