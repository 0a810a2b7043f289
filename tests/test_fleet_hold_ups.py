"""`status` tells what holds a trial up."""

from __future__ import annotations

import asyncio

import pytest
from coordinator_world import SECOND, begin, five_peers, plan_of, register, result, spec_of

from emulator.fleet.coordinator.conductor import follow
from emulator.fleet.coordinator.coordinator import Coordinator
from emulator.fleet.coordinator.hold_ups import hold_up
from emulator.runtime.progress import Progress
from trellis.v1 import control_pb2


@pytest.fixture
def coordinator() -> Coordinator:
    return five_peers()


def late(coordinator: Coordinator, host: str, seconds: float, at: int = 4) -> None:
    """Let a host tell how late its latest timer was, in wall seconds."""
    told = control_pb2.HostProgress(host=host, timer_lateness_max_s=seconds)
    coordinator.note_progress(told, at * SECOND)


def test_hosts_that_are_missing_or_not_ready_are_named(coordinator: Coordinator) -> None:
    assert hold_up(coordinator, SECOND) == "0 of 2 hosts are ready; host-0, host-1 not here yet"
    register(coordinator, "host-1")
    assert hold_up(coordinator, SECOND) == "0 of 2 hosts are ready; host-0 not here yet, host-1 not ready"
    coordinator.ready(control_pb2.Ready(host="host-1"), SECOND)
    assert hold_up(coordinator, SECOND) == "1 of 2 hosts are ready; host-0 not here yet"


def test_of_many_missing_hosts_ten_are_named() -> None:
    spec = spec_of(30, runtime={"kind": "kubernetes", "hosts": 30})
    told = hold_up(Coordinator(spec, plan_of(30), "experiment", "trial"), SECOND)
    assert told.endswith("host-8, host-9 and 20 more not here yet")


def test_nothing_holds_up_a_trial_whose_hosts_are_in_time(coordinator: Coordinator) -> None:
    begin(coordinator)
    late(coordinator, "host-0", 0.1)
    late(coordinator, "host-1", 0.01)
    assert hold_up(coordinator, 4 * SECOND) == ""


def test_the_slowest_host_is_named_once_it_is_later_than_the_limit(coordinator: Coordinator) -> None:
    begin(coordinator)
    late(coordinator, "host-0", 0.11)
    late(coordinator, "host-1", 1.25)
    assert hold_up(coordinator, 4 * SECOND) == "host-1 is the slowest host, with timers up to 1250 ms late"


def test_lateness_is_that_of_trial_time() -> None:
    spec = spec_of(5, runtime={"kind": "processes", "hosts": 2, "time_scale": 10})
    coordinator = Coordinator(spec, plan_of(5), "experiment", "trial")
    begin(coordinator)
    late(coordinator, "host-1", 0.9)
    assert hold_up(coordinator, 4 * SECOND) == ""
    late(coordinator, "host-1", 1.2)
    assert "120 ms late" in hold_up(coordinator, 4 * SECOND)


def test_hosts_that_say_nothing_are_named(coordinator: Coordinator) -> None:
    spec = spec_of(5, runtime={"kind": "processes", "hosts": 2, "time_scale": 10})
    coordinator = Coordinator(spec, plan_of(5), "experiment", "trial")
    begin(coordinator)
    late(coordinator, "host-0", 0.0, at=15)
    assert hold_up(coordinator, 11 * SECOND) == ""
    assert hold_up(coordinator, 15 * SECOND) == "no word from host-1 for up to 14 s"
    coordinator.lose("host-1", "silent")
    assert hold_up(coordinator, 15 * SECOND) == ""


def test_hosts_whose_last_word_is_awaited_are_named(coordinator: Coordinator) -> None:
    begin(coordinator)
    coordinator.finish(result("host-0"), 12 * SECOND)
    told = "the trial's time is over; host-1 still to tell what they measured"
    assert hold_up(coordinator, 13 * SECOND) == told
    coordinator.finish(result("host-1"), 13 * SECOND)
    assert hold_up(coordinator, 13 * SECOND) == ""


def test_the_conductor_reports_what_holds_the_trial_up(coordinator: Coordinator) -> None:
    reports: list[Progress] = []
    asyncio.run(follow(coordinator, reports.append, start_limit=0.6))
    assert reports[0].held_up == "0 of 2 hosts are ready; host-0, host-1 not here yet"
