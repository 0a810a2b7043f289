"""SWIM, driven by hand: no clock, no network; and what is measured of a small trial."""

from __future__ import annotations

from pathlib import Path

import pytest
from swim.messages import Ack, Join, Ping, PingRequest, Update
from swim.parameters import SwimParameters
from swim.system import ALIVE, FAILED, SUSPECTED, Swim

from analysis.testing import finished_run
from emulator.testing.fake_environment import FakeEnvironment


def member(world: FakeEnvironment) -> Swim:
    """Return member 0, which has asked members 7 and 8 for all others, and was told of 1 to 4."""
    made = Swim(world, SwimParameters())
    made.start([7, 8])
    made.learn([Update(peer, 0, ALIVE, 0) for peer in (1, 2, 3, 4)])
    return made


def test_each_member_is_pinged_once_in_a_round() -> None:
    member(world := FakeEnvironment())
    assert [peer for peer, _ in world.take(Join)] == [7, 8]
    world.advance(8.0)
    assert sorted(peer for peer, _ in world.take(Ping)) == [1, 2, 3, 4]


def test_a_silent_member_is_pinged_by_others_then_suspected_then_failed() -> None:
    swim = member(world := FakeEnvironment())
    swim.ping_next()
    ((silent, _),) = world.take(Ping)
    world.advance(0.8)
    asked = world.take(PingRequest)
    assert {message.target for _, message in asked} == {silent}
    assert silent not in {peer for peer, _ in asked} and len(asked) == 3
    world.advance(1.2)
    assert swim.known[silent].state == SUSPECTED
    world.advance(25.0)
    assert ("failed", silent) in [(told.name, told.subject) for told in world.recorded]


def test_a_helper_answers_when_the_target_has_answered_it() -> None:
    member(world := FakeEnvironment())
    world.hand_over(1, PingRequest(2, []), request=9)
    (request,) = [sent for sent in world.outbox if isinstance(sent.message, Ping)]
    assert request.peer == 2 and not world.take(Ack)
    world.hand_over(2, Ack([]), request=-request.request)
    assert [peer for peer, _ in world.take(Ack)] == [1]


def test_who_is_suspected_speaks_for_itself_with_a_later_incarnation() -> None:
    member(world := FakeEnvironment())
    world.hand_over(3, Ping([Update(0, 0, SUSPECTED, 0)]), request=1)
    assert Update(0, 0, ALIVE, 1) in world.take(Ack)[0][1].updates


def test_failed_is_final_for_a_life_and_not_for_the_next() -> None:
    swim = member(FakeEnvironment())
    swim.learn([Update(2, 0, FAILED, 0), Update(2, 0, ALIVE, 5)])
    assert swim.known[2].state == FAILED
    swim.learn([Update(2, 1, ALIVE, 0)])
    assert swim.known[2].state == ALIVE


@pytest.mark.timeout(300)
def test_crashes_are_detected_and_nobody_is_wronged_without_loss(tmp_path: Path) -> None:
    churn = {"crash": {"at": "40 s", "share": 0.2}}
    phases = {"join": "5 s", "settle": "15 s", "measure": "40 s", "drain": "20 s"}
    keys = {"vary": {}, "repeat": 1, "peers": 30, "churn": churn, "phases": phases}
    with finished_run("swim:detection.yaml", tmp_path, **keys) as run:
        measures = run.measures()
        assert measures["false_failures"] == 0 and 25.0 < measures["detection_s"] < 40.0
        assert 0.9 < measures["maintenance_messages_per_s"] < 2.0
        assert len(run.rows("detections")) == 6 and "Detection of crashes" in run.html
