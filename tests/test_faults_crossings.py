"""Messages that cross a partition are found where they arrive, and make the trial invalid."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from coordinator_world import SECOND, VERSIONS, begin, result, spec_of
from faults_by_hand import fault, run_with, up
from realtime_world import HERE, THERE, Parts, World
from runtime_diary import Diary, diary_spec, diary_system
from small_trial import Outcome, make_plan

from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.run.fidelity import Check, Fidelity
from emulator.faults.crossings import Crossing, Crossings
from emulator.faults.network_faults import UNHARMED, Fate, NetworkFaults
from emulator.faults.spec import FaultSpec
from emulator.fleet.coordinator.coordinator import Coordinator
from emulator.fleet.coordinator.fidelity_checks import judge
from trellis.v1 import control_pb2, wire_pb2
from trellis.v1.pubsub import EventData, Pull


@pytest.fixture
def diary(monkeypatch: pytest.MonkeyPatch) -> type[Diary]:
    return diary_system(monkeypatch)


def check_of(fidelity: Fidelity) -> Check:
    (check,) = [check for check in fidelity.checks if check.name == "messages that crossed a partition"]
    return check


def split(at: str = "2 s", lasts: str | None = "3 s", **what: Any) -> dict[str, Any]:
    return fault("split", at, lasts, partition={"peers": [0, 1]} | what)


@pytest.mark.parametrize(
    ("way", "crossed"),
    [("both", {(0, 2), (1, 3), (2, 0)}), ("out", {(0, 2), (1, 3)}), ("in", {(2, 0)})],
)
def test_the_judge_knows_which_way_is_closed(way: str, crossed: set[tuple[int, int]]) -> None:
    found = set()
    for sender, receiver in ((0, 1), (0, 2), (1, 3), (2, 0), (2, 3)):
        crossings = Crossings([FaultSpec.model_validate(split(way=way))], [[0, 1]])
        crossings.judge(sender, receiver, 2.5, 2.6)
        if crossings.crossed("split"):
            found.add((sender, receiver))
    assert found == crossed


def test_the_judge_goes_by_the_time_at_which_a_message_was_sent() -> None:
    crossings = Crossings([FaultSpec.model_validate(split())], [[0, 1]])
    crossings.judge(0, 2, 1.999, 2.5)
    crossings.judge(0, 2, 5.0, 5.1)
    assert crossings.crossed("split") == 0 and crossings.first("split") is None
    crossings.judge(0, 2, 2.0, 2.1)
    crossings.judge(3, 1, 4.999, 6.0)
    assert crossings.crossed("split") == 2 and crossings.first("split") == Crossing(0, 2, 2.0, 2.1)


def leak(monkeypatch: pytest.MonkeyPatch, sender: int, fate: Fate = UNHARMED) -> None:
    """Have this become of what a peer sends, whatever faults there are."""
    whole = NetworkFaults.becomes

    def becomes(faults: NetworkFaults, by: int, receiver: int, at: float, random: Random) -> Fate:
        return fate if by == sender else whole(faults, by, receiver, at, random)

    monkeypatch.setattr(NetworkFaults, "becomes", becomes)


def pulls(diary: type[Diary], tmp_path: Path, asked: dict[str, Any], **fields: Any) -> Outcome:
    """Let peers 0 and 2 send to each other at 3 s."""

    def start(peer: Diary) -> None:
        if peer.peer in (0, 2):
            peer.environment.set_timer(3.0, lambda: peer.environment.send(2 - peer.peer, Pull(event=1)))

    diary.on_start = staticmethod(start)
    return run_with(
        diary_spec(4, faults=[asked], **fields), tmp_path, make_plan(4, up(10.0, 10.0, 10.0, 10.0))
    )


RATES = {"up": "10 Mbit/s", "down": "10 Mbit/s", "queue": "1 s"}
WORLDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "fifo": {"network": {"bandwidth": RATES}},
    "fair": {"network": {"bandwidth": RATES | {"discipline": "fair"}}},
    "in order": {"network": {"order": "kept", "jitter": "5 ms"}},
    "busy": {"processing": {"message": "1 ms"}},
}


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_a_message_that_the_fault_lets_through_makes_the_trial_invalid(
    diary: type[Diary], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, world: dict[str, Any]
) -> None:
    leak(monkeypatch, 0)
    fidelity = pulls(diary, tmp_path, split(), **world).fidelity
    check = check_of(fidelity)
    assert not fidelity.valid and (check.measured, check.limit) == (1, 0)
    assert check.detail.startswith('"split", first from peer 0 to peer 2, sent at 3.000 s, there at 3.0')
    (report,) = fidelity.faults
    assert report.messages == {"stopped": 1, "crossed": 1}
    assert report.crossing is not None and report.crossing.receiver == 2


@pytest.mark.parametrize(("what", "crossed"), [("twice_by", 2), ("damaged_by", 1)])
@pytest.mark.parametrize("world", [WORLDS["plain"], WORLDS["fair"]])
def test_copies_and_damaged_messages_that_cross_are_counted(
    diary: type[Diary],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    world: dict[str, Any],
    what: str,
    crossed: int,
) -> None:
    fate = Fate()
    setattr(fate, what, "other")
    leak(monkeypatch, 0, fate)
    assert check_of(pulls(diary, tmp_path, split(), **world).fidelity).measured == crossed


def test_a_message_to_a_peer_that_is_down_crosses_all_the_same(
    diary: type[Diary], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leak(monkeypatch, 0)
    diary.on_start = staticmethod(
        lambda peer: peer.environment.set_timer(3.0, lambda: peer.environment.send(2, Pull(event=1)))
    )
    asked = diary_spec(4, faults=[split()])
    fidelity = run_with(asked, tmp_path, make_plan(4, up(10.0))).fidelity
    assert check_of(fidelity).measured == 1


def test_what_was_sent_before_the_partition_may_arrive_in_it(diary: type[Diary], tmp_path: Path) -> None:
    outcome = pulls(diary, tmp_path, split(at="3010 ms"))
    assert sum(len(peer.received) for peer in diary.lives) == 2
    assert outcome.fidelity.valid and check_of(outcome.fidelity).measured == 0
    (told,) = json.loads(outcome.directory.fidelity.read_text())["faults"]
    assert told["messages"] == {"stopped": 0, "crossed": 0} and "crossing" not in told


def test_trials_without_a_partition_have_no_such_check(diary: type[Diary], tmp_path: Path) -> None:
    slow = fault("slow", links={"peers": [0, 1], "delay": "10 ms"})
    fidelity = pulls(diary, tmp_path, slow).fidelity
    assert fidelity.valid and not any("crossed" in check.name for check in fidelity.checks)


@pytest.fixture
def world(tmp_path: Path) -> Any:
    """A host of peers 0 to 2, with a partition of peers 0 and 1 that has begun."""
    specs = [FaultSpec.model_validate(split("0 s", None))]
    made = World(tmp_path, faults=NetworkFaults(specs, [[0, 1]], [[]], 5))
    yield made
    made.close()


def crossings_of(faults: NetworkFaults | None) -> Crossings:
    assert faults is not None and faults.crossings is not None
    return faults.crossings


def test_a_host_finds_what_crosses_between_its_own_peers(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    leak(monkeypatch, 0)
    one, other = world.add(0, Parts), world.add(2, Parts)
    world.pass_time(0.01)
    one.environment.send(2, EventData(event=1))
    world.run(until=lambda: other.heard)
    crossings = crossings_of(world.faults)
    assert crossings.crossed("split") == 1
    first = crossings.first("split")
    assert first is not None and (first.sender, first.receiver) == (0, 2)
    assert 0 < first.sent_s < first.arrived_s <= world.host.clock.now()


def test_a_host_finds_what_crosses_from_other_hosts(world: World) -> None:
    world.add(0, Parts)
    world.pass_time(0.01)
    sent = {"sender": 3, "type": "EventData", "sent_ns": 5_000_000, "due_ns": 9_000_000}
    batch = wire_pb2.Batch(host=THERE)
    batch.envelopes.add(receiver=0, **sent)
    batch.envelopes.add(receiver=1, **sent)  # it is down
    batch.envelopes.add(receiver=2, **sent)  # it is on the same side
    batch.envelopes.add(receiver=99, **sent)
    batch.envelopes.add(receiver=0, **sent | {"type": ""})  # a probe
    batch.envelopes.add(receiver=3, bounced=True, **sent | {"sender": 0})
    world.host.receive(batch)
    crossings = crossings_of(world.faults)
    assert crossings.crossed("split") == 2 and world.host.host_of[3] != HERE
    first = crossings.first("split")
    assert first is not None and (first.sender, first.receiver, first.sent_s) == (3, 0, 0.005)


def of_two_hosts() -> Coordinator:
    asked = spec_of(5, faults=[split()])
    coordinator = Coordinator(asked, draw_plan(asked), "experiment", "trial")
    begin(coordinator)
    return coordinator


def test_the_coordinator_names_the_earliest_message_that_crossed() -> None:
    coordinator = of_two_hosts()
    for host, arrived, crossed in (("host-0", 4.0, 2), ("host-1", 3.5, 1)):
        crossing = control_pb2.Crossing(sender=1, receiver=4, sent_s=3.0, arrived_s=arrived)
        told = control_pb2.FaultTimes(
            fault=0, messages={"crossed": crossed, "stopped": 7, "other": 9}, crossing=crossing
        )
        coordinator.finish(result(host, faults=[told]), 10 * SECOND)
    fidelity = judge(coordinator, VERSIONS)
    check = check_of(fidelity)
    assert check.measured == 3 and not fidelity.valid
    assert check.detail == '"split", first from peer 1 to peer 4, sent at 3.000 s, there at 3.500 s'
    assert fidelity.faults[0].messages == {"stopped": 7, "crossed": 2}


def test_what_no_host_told_is_not_measured() -> None:
    coordinator = of_two_hosts()
    for host in ("host-0", "host-1"):
        coordinator.lose(host, "killed by SIGKILL")
    assert check_of(judge(coordinator, VERSIONS)).measured is None
