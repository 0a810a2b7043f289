"""The coordinator: who gets what, who has joined, who is up, who is lost."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from coordinator_world import (
    SECOND,
    VERSIONS,
    begin,
    five_peers,
    plan_of,
    reasons,
    register,
    result,
    spec_of,
)
from hypothesis import given
from hypothesis import strategies as st

from emulator.experiment.file.spec import TrialSpec
from emulator.fleet.coordinator.conductor import follow, lose_silent
from emulator.fleet.coordinator.coordinator import ControlError, Coordinator
from emulator.fleet.coordinator.fidelity_checks import judge
from emulator.fleet.coordinator.journal import Journal, replay
from emulator.fleet.host.assignment import script_in
from emulator.fleet.host.clock_offset import clock_exchange
from emulator.fleet.host.delay_enforcement import Enforcement
from emulator.runtime.tracker import CONTACTS
from trellis.v1 import control_pb2


@pytest.fixture
def coordinator() -> Coordinator:
    return five_peers()


def test_each_host_is_given_exactly_its_own_peers(coordinator: Coordinator) -> None:
    seen = []
    for index, host in enumerate(("host-0", "host-1")):
        assignment = register(coordinator, host)
        script = script_in(assignment, coordinator.spec.workload.kind)
        own = [peer for peer in range(5) if assignment.host_of_peer[peer] == index]
        assert {step.peer for step in script.steps} == set(own)
        assert [held.peer for held in script.all_held()] == own
        assert len(assignment.location) == 5
        seen += own
    assert sorted(seen) == [0, 1, 2, 3, 4]


def test_the_spec_survives_the_way_to_a_host(coordinator: Coordinator) -> None:
    assert TrialSpec.model_validate_json(register(coordinator, "host-0").spec) == coordinator.spec


def test_the_start_is_given_once_all_hosts_are_ready(coordinator: Coordinator) -> None:
    register(coordinator, "host-0")
    assert not coordinator.ready(control_pb2.Ready(host="host-0"), SECOND)
    with pytest.raises(ControlError):
        coordinator.start()
    register(coordinator, "host-1")
    assert coordinator.ready(control_pb2.Ready(host="host-1"), 2 * SECOND)
    assert coordinator.start().start_unix_ns > 2 * SECOND
    assert list(coordinator.start().addresses) == ["127.0.0.1:0", "127.0.0.1:1"]


@pytest.mark.parametrize(("hosts", "seconds"), [(2, 0.5), (200, 10.0), (5000, 60.0)])
def test_many_hosts_have_more_time_until_the_start(hosts: int, seconds: float) -> None:
    spec = spec_of(hosts, runtime={"kind": "kubernetes", "hosts": hosts})
    coordinator = Coordinator(spec, plan_of(hosts), "experiment", "trial")
    for index in range(hosts):
        coordinator.ready(control_pb2.Ready(host=f"host-{index}"), SECOND)
    assert coordinator.start().start_unix_ns == SECOND + seconds * SECOND


def test_an_unknown_host_is_refused(coordinator: Coordinator) -> None:
    with pytest.raises(ControlError, match="host-9"):
        register(coordinator, "host-9")


def test_a_host_that_comes_back_takes_its_place_and_the_trial_is_invalid(coordinator: Coordinator) -> None:
    begin(coordinator)
    coordinator.track(control_pb2.TrackRequest(host="host-1", joining=[1, 3]), SECOND)
    assert not register(coordinator, "host-1").came_back
    again = register(coordinator, "host-1", start="second", at=4 * SECOND)
    assert (again.incarnation, again.came_back) == (1, True)
    assert not coordinator.track(control_pb2.TrackRequest(host="host-0", asking=[0]), SECOND).asking[0].peers
    assert "host-1 with peers 1, 3 came back at 2.5 s" in reasons(coordinator)
    assert judge(coordinator, VERSIONS).hosts[1].state == "restarted"


def test_others_are_told_where_a_host_has_moved(coordinator: Coordinator) -> None:
    begin(coordinator)
    register(coordinator, "host-1", start="second", address="127.0.0.1:9")
    (move,) = coordinator.note_progress(control_pb2.HostProgress(host="host-0"), SECOND).moves
    assert (move.host, move.address) == (1, "127.0.0.1:9")
    known = control_pb2.HostProgress(host="host-0", moves_known=1)
    assert not coordinator.note_progress(known, SECOND).moves
    assert coordinator.start().moves_known == 1


def test_a_host_that_asks_twice_has_not_restarted(coordinator: Coordinator) -> None:
    begin(coordinator)
    assert register(coordinator, "host-1").incarnation == 0
    assert reasons(coordinator) == ""


def test_a_restart_before_the_trial_harms_nobody(coordinator: Coordinator) -> None:
    register(coordinator, "host-1", start="before")
    begin(coordinator)
    assert reasons(coordinator) == ""


POD_CHURN: dict[str, Any] = {"runtime": {"kind": "kubernetes", "hosts": 5, "churn": "pods"}}


def test_a_restart_that_the_plan_brought_about_is_no_flaw() -> None:
    coordinator = Coordinator(spec_of(5, **POD_CHURN), plan_of(5, end=6.0), "experiment", "trial")
    hosts = [f"host-{index}" for index in range(5)]
    for host in hosts:
        register(coordinator, host)
        coordinator.ready(control_pb2.Ready(host=host), SECOND)
    kills = coordinator.churn_plan().kills
    assert [(kill.peer, kill.host, kill.at_s) for kill in kills] == [(p, f"host-{p}", 6.0) for p in range(5)]
    coordinator.note_killed(
        control_pb2.Killed(peer=1, host="host-1", requested_s=6.1, gone_s=6.5), 8 * SECOND
    )
    assert [kill.peer for kill in coordinator.churn_plan().kills] == [0, 2, 3, 4]
    last_word = control_pb2.Written(start=0, last_word=True)
    coordinator.note_progress(control_pb2.HostProgress(host="host-1", written=last_word), 7 * SECOND)
    assert not register(coordinator, "host-1", start="second", at=8 * SECOND).came_back
    for host in hosts:
        coordinator.finish(result(host), 10 * SECOND)
    fidelity = judge(coordinator, VERSIONS)
    assert "peer 0 at 6.0 s: the churn controller told nothing" in "; ".join(fidelity.reasons)
    for peer in (0, 2, 3, 4):
        told = control_pb2.Killed(peer=peer, host=f"host-{peer}", requested_s=6.0, gone_s=6.2)
        coordinator.note_killed(told, 8 * SECOND)
    fidelity = judge(coordinator, VERSIONS)
    assert fidelity.valid
    assert fidelity.measured["pod_gone_max_ms"] == pytest.approx(500)
    register(coordinator, "host-1", start="third", at=9 * SECOND)
    assert "host-1 with peer 1 came back" in "; ".join(judge(coordinator, VERSIONS).reasons)


def test_a_coordinator_that_takes_over_knows_what_hosts_told(tmp_path: Path) -> None:
    first, second = (Coordinator(spec_of(5), plan_of(5), "experiment", "trial") for _ in range(2))
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        for host in ("host-0", "host-1"):
            registration = control_pb2.Registration(host=host, address=host, start="first", versions=VERSIONS)
            ready = control_pb2.Ready(host=host, clock_offset_ns=7)
            for call, message in (("register", registration), ("ready", ready)):
                getattr(first, call)(message, SECOND)
                journal.note(call, message, SECOND)
        journal.note("finish", result("host-1", sent=5), 9 * SECOND)
    path.write_bytes(path.read_bytes() + b'{"at_ns": 1, "ca')
    replay(path, second)
    second.resume(8 * SECOND)
    assert second.start() == first.start()
    assert second.members["host-0"].versions == VERSIONS
    assert second.members["host-1"].result == result("host-1", sent=5)
    assert register(second, "host-0").incarnation == 0
    assert not second.over


def test_a_coordinator_that_takes_over_learns_who_is_up(coordinator: Coordinator) -> None:
    begin(coordinator)
    coordinator.resume(SECOND)
    progress = control_pb2.HostProgress(host="host-1")
    assert coordinator.note_progress(progress, SECOND).tell_up
    progress.tells_up = True
    progress.up.extend([1, 3])
    assert not coordinator.note_progress(progress, SECOND).tell_up
    asked = coordinator.track(control_pb2.TrackRequest(host="host-0", asking=[0]), SECOND).asking[0].peers
    assert sorted(asked) == [1, 3]


def test_the_first_peer_has_no_contacts_and_later_ones_have_live_others(coordinator: Coordinator) -> None:
    begin(coordinator)
    request = control_pb2.TrackRequest(host="host-0", joining=[0, 2])
    reply = coordinator.track(request, SECOND)
    assert [list(contacts.peers) for contacts in reply.joining] == [[], [0]]
    reply = coordinator.track(control_pb2.TrackRequest(host="host-1", left=[0], joining=[1]), SECOND)
    assert list(reply.joining[0].peers) == [2]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 7))))
def test_contacts_are_live_distinct_others(changes: list[tuple[bool, int]]) -> None:
    coordinator = Coordinator(spec_of(8), plan_of(8), "experiment", "trial")
    live: set[int] = set()
    for joins, peer in changes:
        request = control_pb2.TrackRequest(host="host-0", **{"joining" if joins else "left": [peer]})
        coordinator.track(request, SECOND)
        live = live | {peer} if joins else live - {peer}
    asked = coordinator.track(control_pb2.TrackRequest(host="host-0", asking=[3]), SECOND).asking[0].peers
    assert len(set(asked)) == len(asked) == min(CONTACTS, len(live - {3}))
    assert set(asked) <= live - {3}


def test_peers_of_a_lost_host_are_no_contacts(coordinator: Coordinator) -> None:
    begin(coordinator)
    coordinator.track(control_pb2.TrackRequest(host="host-0", joining=[0, 2, 4]), SECOND)
    coordinator.lose("host-0", "killed")
    reply = coordinator.track(control_pb2.TrackRequest(host="host-1", joining=[1]), SECOND)
    assert not reply.joining[0].peers


def test_progress_counts_operations_in_the_words_of_the_workload(coordinator: Coordinator) -> None:
    begin(coordinator)
    looks = spec_of(5, system={"name": "small-world"}, workload={"lookups": {"rate": 1.0}})
    of_lookups = Coordinator(looks, plan_of(5), "experiment", "trial")
    for tested, word in ((coordinator, "published"), (of_lookups, "lookups")):
        for host, count in (("host-0", 3), ("host-1", 4)):
            tested.note_progress(control_pb2.HostProgress(host=host, asked=count), SECOND)
        progress = tested.progress(SECOND)
        assert (progress.asked, progress.words[0]) == (7, word)


def test_a_host_that_waited_long_for_the_start_was_not_silent(coordinator: Coordinator) -> None:
    for host, at in (("host-0", 1), ("host-1", 100)):
        register(coordinator, host, at=at * SECOND)
        coordinator.ready(control_pb2.Ready(host=host), at * SECOND)
    lose_silent(coordinator, 110 * SECOND)
    assert not coordinator.members["host-0"].lost
    coordinator.note_progress(control_pb2.HostProgress(host="host-1"), 104 * SECOND)
    coordinator.spec = spec_of(5, phases={"join": "60 s"})
    lose_silent(coordinator, 122 * SECOND)
    assert [bool(member.lost) for member in coordinator.members.values()] == [True, False]


@given(st.integers(-(10**9), 10**9), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_the_clock_offset_is_exact_to_half_the_round_trip(
    offset: int, there: int, pause: int, back: int
) -> None:
    coordinator_asked = 10**12
    received = coordinator_asked + there
    replied = received + pause
    heard = replied + back + offset
    round_trip, measured = clock_exchange(coordinator_asked + offset, received, replied, heard)
    assert round_trip == there + back
    assert abs(measured - offset) <= round_trip / 2 + 1


def test_a_host_without_what_is_asked_for_ends_the_trial_before_the_others_are_there(
    coordinator: Coordinator,
) -> None:
    register(coordinator, "host-0")
    coordinator.finish(result("host-0", error="the experiment asks for netem: no sch_netem"), SECOND)
    why = asyncio.run(follow(coordinator, lambda progress: None))
    assert why == "it could not start, because host-0: the experiment asks for netem: no sch_netem"
    assert why in "; ".join(judge(coordinator, VERSIONS, why).reasons)


@pytest.mark.parametrize(("enforce", "lacks"), [("netem", True), ("auto", False), ("delay-line", False)])
def test_a_host_knows_before_the_trial_that_it_has_no_netem(enforce: str, lacks: bool) -> None:
    enforcement = Enforcement("127.0.0.1:1", netem=False)
    assert bool(enforcement.lacking(spec_of(2, network={"enforce": enforce}))) is lacks


def test_what_the_plan_kills_is_sorted_once_however_often_restarts_are_asked_for() -> None:
    coordinator = Coordinator(spec_of(5, **POD_CHURN), plan_of(5, end=6.0), "experiment", "trial")
    host = coordinator.members["host-1"]
    host.returns = [5.0, 6.5, 7.0]
    assert coordinator.restarts(host) == [5.0, 7.0]
    assert coordinator.restarts(host) == [5.0, 7.0]
    assert coordinator.kills is coordinator.kills
