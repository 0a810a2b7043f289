"""Peers that a fault hits tell when it begins and ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from faults_by_hand import fault, observed, run_with, up
from runtime_diary import diary_spec, diary_system
from small_trial import make_plan, run

from emulator.experiment.plan.draw_plan import draw_plan


@pytest.mark.parametrize(
    "what",
    [
        {"partition": {"peers": [1]}},
        {"links": {"peers": [1], "delay": "20 ms"}},
        {"pause": {"peers": [1]}},
        {"clock": {"peers": [1], "step": "100 ms"}},
    ],
    ids=lambda what: next(iter(what)),
)
def test_a_peer_that_a_fault_hits_tells_of_its_begin_and_its_end(
    what: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    diary_system(monkeypatch)
    asked = diary_spec(3, faults=[fault("bad", **what)])
    outcome = run_with(asked, tmp_path, make_plan(3, up(10, 10, 10)))
    assert observed(outcome, "fault bad begins") == [(1, 2.0, 3.0)]
    assert [(peer, at) for peer, at, _ in observed(outcome, "fault bad ends")] == [(1, 5.0)]


def test_attackers_that_are_up_tell_of_the_begin_and_the_end_of_the_attack(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    diary_system(monkeypatch)
    attackers = {"peers": [1, 2], "behaviour": "black-hole", "at": "2 s", "for": "3 s"}
    asked = diary_spec(3, attackers=attackers)
    outcome = run(asked, make_plan(3, [(0, 0, 10), (1, 0, 10), (2, 0, 1)], attackers=(1, 2)), tmp_path)
    assert observed(outcome, "fault attack begins") == [(1, 2.0, 3.0)]
    assert [(peer, at) for peer, at, _ in observed(outcome, "fault attack ends")] == [(1, 5.0)]
    (report,) = outcome.fidelity.faults
    assert (report.name, report.kind) == ("attack", "black-hole")
    assert (report.begun_s, report.ended_s, report.error_s) == (2.0, 5.0, 0.0)


def test_a_peer_that_crashes_without_its_state_tells_of_the_begin_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    diary_system(monkeypatch)
    asked = diary_spec(3, faults=[fault("gone", crash={"peers": [1]})])
    outcome = run(asked, draw_plan(asked), tmp_path)
    assert observed(outcome, "fault gone begins") == [(1, 2.0, 3.0)]
    assert observed(outcome, "fault gone ends") == []
