"""Releases in a queue run one after the other, pause and end, whatever happens to their programs."""

from __future__ import annotations

import pytest
from queue_world import QueueWorld

from emulator.fleet.pods.queue_order import ENDED, OVER, RESTING, STATE, TRIALS


@pytest.fixture
def world() -> QueueWorld:
    return QueueWorld()


def test_the_oldest_release_runs_first_and_the_next_one_when_it_has_ended(world: QueueWorld) -> None:
    for release in ("old", "middle", "young"):
        world.install(release)
    world.turns()
    assert world.running == {"old"}
    assert (world.state("old"), world.state("middle")) == ("running", "waiting")
    assert world.pods["old"] == {
        "statefulsets/peers": 20, "statefulsets/coordinator": 1, "deployments/results": 1
    }  # fmt: skip
    assert world.suspended == {"old": False, "middle": True, "young": True}
    world.ended.add("old")
    assert world.programs.pop("old").step(), "its program ends with the run"
    world.turns()
    assert world.pods["old"]["statefulsets/peers"] == 0
    assert world.pods["old"]["deployments/results"] == 1, "somebody wants to read the results"
    assert (world.state("middle"), world.state("young")) == ("running", "waiting")


def test_a_release_of_a_higher_priority_comes_first_but_ends_no_other(world: QueueWorld) -> None:
    world.install("first")
    world.turns()
    world.install("second")
    world.install("urgent", priority=5)
    world.turns()
    assert world.running == {"first"}
    world.ended.add("first")
    world.programs.pop("first").step()
    world.turns()
    assert (world.state("urgent"), world.state("second")) == ("running", "waiting")


def test_as_many_run_at_once_as_the_queue_has_places(world: QueueWorld) -> None:
    for number in range(5):
        world.install(f"r{number}", slots=3)
    world.turns(6)
    assert world.running == {"r0", "r1", "r2"}
    assert {holder.split("/")[0] for _, holder in world.places.values()} == world.running


def test_two_programs_that_look_at_the_same_moment_do_not_both_get_the_place(world: QueueWorld) -> None:
    a, b = world.install("a"), world.install("b", priority=1)
    for program in (a, b, a, b):
        program.api.holders()
    before = a.api.holders(), b.api.holders()
    assert before == ({}, {})
    assert [a.api.take("trellis-default-0", "a/1"), b.api.take("trellis-default-0", "b/1")] == [True, False]
    world.turns()
    assert len(world.running) == 1


def test_a_removed_release_leaves_its_place_and_one_of_the_same_name_does_not_have_it(
    world: QueueWorld,
) -> None:
    world.install("a")
    world.install("b")
    world.turns()
    program = world.programs["a"]
    world.remove("a")
    assert program.step(), "nothing is left to do"
    world.install("a")
    world.leases["a-queue"]["metadata"]["uid"] = "another"
    world.turns()
    assert (world.running, world.state("a")) == ({"b"}, "waiting")


def test_nobody_waits_behind_a_release_whose_program_never_came_up_or_went_away(world: QueueWorld) -> None:
    world.install("running")
    world.turns()
    world.install("stuck")
    del world.programs["stuck"]
    world.install("gone")
    world.turns()
    assert world.state("gone") == "waiting"
    del world.programs["gone"]
    world.install("next")
    world.ended.add("running")
    world.programs.pop("running").step()
    world.turns()
    assert world.state("next") == "waiting", "the one before it has just been heard of"
    world.turns(15)
    assert world.state("next") == "running"


def test_a_running_release_keeps_its_place_while_its_program_is_away(world: QueueWorld) -> None:
    world.install("a")
    world.install("b")
    world.turns()
    del world.programs["a"]
    world.turns(1000)
    assert (world.state("b"), world.running) == ("waiting", {"a"})
    world.programs["a"] = world.program("a")
    world.turns()
    assert (world.state("a"), world.running) == ("running", {"a"})


def test_a_place_is_free_when_its_release_has_ended_without_giving_it_back(world: QueueWorld) -> None:
    world.install("a")
    world.turns()
    del world.programs["a"]
    world.notes("a")[STATE] = ENDED
    world.install("b")
    world.turns()
    assert world.state("b") == "running"


def test_a_program_that_ended_between_taking_the_place_and_starting_pods_starts_them(
    world: QueueWorld,
) -> None:
    world.install("a")
    world.turns(1)
    world.places["trellis-default-0"] = 1, "a/uid-a"
    world.programs["a"] = world.program("a")
    world.turns(1)
    assert (world.running, world.suspended["a"]) == ({"a"}, False)


def test_a_pause_waits_for_the_end_of_the_trial_and_frees_the_place(world: QueueWorld) -> None:
    world.install("a")
    world.install("b")
    world.turns()
    world.pause("a")
    world.turns()
    assert (world.state("a"), world.running) == ("pausing", {"a"})
    world.notes("a")[TRIALS] = RESTING
    world.turns()
    assert (world.state("a"), world.running, world.suspended["a"]) == ("paused", {"b"}, True)
    world.pause("a", False)
    world.turns()
    assert (world.state("a"), world.running) == ("waiting", {"b"})
    world.ended.add("b")
    world.programs.pop("b").step()
    world.turns()
    assert world.state("a") == "running"
    assert TRIALS not in world.notes("a"), "its trials go on, so the next pause has to wait for one"


def test_a_pause_that_is_taken_back_ends_no_trial(world: QueueWorld) -> None:
    world.install("a")
    world.turns()
    world.pause("a")
    world.turns()
    world.pause("a", False)
    world.turns()
    assert (world.state("a"), world.running) == ("running", {"a"})
    world.notes("a")[TRIALS] = RESTING  # the coordinator had not seen that
    world.turns()
    assert TRIALS not in world.notes("a")


def test_a_sweep_on_the_virtual_clock_pauses_at_once(world: QueueWorld) -> None:
    world.install("sweep", conducted=False)
    world.turns()
    world.pause("sweep")
    world.turns(1)
    assert (world.state("sweep"), world.suspended["sweep"], world.running) == ("paused", True, set())


def test_a_release_may_be_paused_while_it_waits(world: QueueWorld) -> None:
    world.install("a")
    world.pause("a")
    world.install("b")
    world.turns()
    assert (world.state("a"), world.state("b")) == ("paused", "running")


def test_hosts_go_when_the_trials_are_over_and_stay_away_when_the_program_is_started_anew(
    world: QueueWorld,
) -> None:
    world.install("a")
    world.turns()
    world.notes("a")[TRIALS] = OVER
    world.turns()
    assert world.pods["a"]["statefulsets/peers"] == 0
    assert world.pods["a"]["statefulsets/coordinator"] == 1, "the volume is on its node"
    world.programs["a"] = world.program("a")
    world.turns()
    assert world.pods["a"]["statefulsets/peers"] == 0
    world.pause("a")
    world.turns()
    assert world.state("a") == "paused", "an analysis has no trial to wait for"
