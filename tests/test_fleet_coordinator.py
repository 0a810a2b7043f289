"""The coordinator's decisions, without a network."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.experiment.plan import LOOKUPS, PEERS, PUBLICATIONS, SESSIONS, SUBSCRIPTIONS, Plan
from emulator.experiment.spec import TrialSpec
from emulator.fleet.assignment import script_in
from emulator.fleet.clock_offset import clock_exchange
from emulator.fleet.conduct import follow, lose_silent
from emulator.fleet.coordinator import ControlError, Coordinator
from emulator.fleet.enforcement import Enforcement
from emulator.fleet.journal import Journal, replay
from emulator.fleet.stops import WORD, is_stopped
from emulator.fleet.verdict import judge
from emulator.runtime.tracker import CONTACTS
from trellis.v1 import control_pb2

SECOND = 10**9
VERSIONS = {"trellis": "1"}


def _table(schema: pa.Schema, **columns: list[Any]) -> pa.Table:
    """The columns that are left out are null."""
    rows = len(next(iter(columns.values())))
    return pa.table([columns.get(name, [None] * rows) for name in schema.names], schema=schema)


def plan_of(peers: int, end: float = 10.0) -> Plan:
    rows = range(peers)
    return Plan(
        _table(PEERS, peer=[*rows], location=[0] * peers, role=["peer"] * peers),
        pa.table(
            [[*rows], [0] * peers, [0.0] * peers, [end] * peers, [False] * peers, ["base"] * peers],
            schema=SESSIONS,
        ),
        _table(
            SUBSCRIPTIONS,
            interest=[*rows],
            peer=[*rows],
            topic=[7] * peers,
            rate=[1.0] * peers,
            start_s=[0.0] * peers,
            end_s=[10.0] * peers,
        ),
        _table(PUBLICATIONS, event=[0], at_s=[5.0], publisher=[peers - 1], topic=[7], payload_bytes=[10]),
        pa.table([[*rows], [5.0] * peers, [*rows], [bytes(16)] * peers], schema=LOOKUPS),
    )


def spec_of(peers: int, **fields: object) -> TrialSpec:
    return TrialSpec.model_validate(
        {
            "system": {"name": "vitis"},
            "peers": peers,
            "network": {"latency": {"kind": "constant", "rtt": "40 ms"}},
            "workload": {"subscriptions": {"kind": "random"}},
            "phases": {"join": "2 s", "settle": "2 s", "measure": "4 s", "drain": "2 s"},
            "runtime": {"kind": "processes", "hosts": 2},
        }
        | fields
    )


@pytest.fixture
def coordinator() -> Coordinator:
    return Coordinator(spec_of(5), plan_of(5), "experiment", "trial")


def register(
    coordinator: Coordinator, host: str, start: str = "first", address: str = "", at: int = SECOND
) -> control_pb2.Assignment:
    registration = control_pb2.Registration(
        host=host, address=address or f"127.0.0.1:{host[-1]}", versions=VERSIONS, start=start
    )
    return coordinator.register(registration, at)


def begin(coordinator: Coordinator) -> None:
    for host in ("host-0", "host-1"):
        register(coordinator, host)
        coordinator.ready(control_pb2.Ready(host=host, clock_offset_ns=0), SECOND)


def result(host: str, **fields: object) -> control_pb2.HostFidelity:
    return control_pb2.HostFidelity(host=host, **fields)  # type: ignore[arg-type]


def reasons(coordinator: Coordinator, **fields: object) -> str:
    for host in ("host-0", "host-1"):
        coordinator.finish(result(host, **fields), 10 * SECOND)
    return "; ".join(judge(coordinator, VERSIONS).reasons)


def test_each_host_is_given_exactly_its_own_peers(coordinator: Coordinator) -> None:
    seen = []
    for index, host in enumerate(("host-0", "host-1")):
        assignment = register(coordinator, host)
        script = script_in(assignment)
        own = [peer for peer in range(5) if assignment.host_of_peer[peer] == index]
        assert {step.peer for step in script.steps} == set(own)
        assert [held.peer for held in script.all_interests()] == own
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
    assert register(coordinator, "host-1", start="second", at=4 * SECOND).incarnation == 1
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
    register(coordinator, "host-1", start="second", at=8 * SECOND)
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


def test_progress_counts_events_or_lookups_whichever_the_trial_has(coordinator: Coordinator) -> None:
    begin(coordinator)
    looks = spec_of(5, system={"name": "small-world"}, workload={"lookups": {"rate": 1.0}})
    for tested, lookups in ((coordinator, None), (Coordinator(looks, plan_of(5), "experiment", "trial"), 7)):
        for host, count in (("host-0", 3), ("host-1", 4)):
            tested.note_progress(control_pb2.HostProgress(host=host, lookups=count), SECOND)
        assert tested.progress(SECOND).lookups == lookups


def test_a_lost_host_makes_the_trial_invalid_and_is_named(coordinator: Coordinator) -> None:
    begin(coordinator)
    coordinator.note_progress(control_pb2.HostProgress(host="host-1"), 5 * SECOND)
    coordinator.lose("host-1", "killed by SIGKILL")
    coordinator.finish(result("host-0"), 12 * SECOND)
    assert coordinator.over
    fidelity = judge(coordinator, VERSIONS)
    assert not fidelity.valid
    assert "host-1 with 2 peers, last heard at 3.5 s: killed by SIGKILL" in fidelity.reasons[0]
    assert fidelity.hosts[1].state == "lost"
    assert fidelity.hosts[1].lost_at_s == pytest.approx(3.5)


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


def test_a_trial_without_flaw_is_valid(coordinator: Coordinator, tmp_path: Path) -> None:
    begin(coordinator)
    assert reasons(coordinator) == ""
    judge(coordinator, VERSIONS).write(tmp_path / "fidelity.json")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (
            {"timer_lateness": control_pb2.Distribution(buckets=[0, 500], counts=[98, 2], maximum_s=0.9)},
            "timer lateness",
        ),
        ({"loop_stall_s": 1.5}, "event-loop stall, longest: 1500 ms, limit 1000 ms"),
        ({"session_error": control_pb2.Distribution(buckets=[600], counts=[9], maximum_s=1.0)}, "join and"),
        ({"dropped": {"link full": 3}}, "dropped envelopes: 6 envelopes, limit 0 envelopes (6 link full)"),
        ({"lost_spans": 1}, "lost spans: 2"),
        ({"operations_missed": 1}, "operations missed: 2 operations, limit 0 operations"),
        ({"error": "telemetry cannot be written: disk full"}, "disk full"),
    ],
)
def test_each_limit_invalidates(coordinator: Coordinator, fields: dict[str, object], reason: str) -> None:
    begin(coordinator)
    assert reason in reasons(coordinator, **fields)


def allowing(peers: int, **fidelity: object) -> Coordinator:
    made = Coordinator(spec_of(peers, fidelity=fidelity), plan_of(peers), "experiment", "trial")
    begin(made)
    return made


@pytest.mark.parametrize(("allowed", "valid"), [(0, False), (1, True), ("49 %", False), ("50 %", True)])
@pytest.mark.parametrize("what", ["hosts_restarted", "hosts_lost"])
def test_the_experiment_says_how_many_hosts_may_restart_or_be_lost(
    what: str, allowed: object, valid: bool
) -> None:
    coordinator = allowing(5, **{what: allowed})
    if what == "hosts_lost":
        coordinator.lose("host-1", "killed by SIGKILL")
        coordinator.finish(result("host-0"), 10 * SECOND)
    else:
        register(coordinator, "host-1", start="second", at=4 * SECOND)
        for host in ("host-0", "host-1"):
            coordinator.finish(result(host), 10 * SECOND)
    fidelity = judge(coordinator, VERSIONS)
    assert fidelity.valid is valid
    (check,) = [check for check in fidelity.checks if check.name == what.replace("_", " ")]
    asked = f"fidelity.{what} is {allowed}" + (" of 2 hosts" if isinstance(allowed, str) else "")
    assert "host-1" in check.detail and asked in check.detail
    assert all(asked in reason for reason in fidelity.reasons)


@pytest.mark.parametrize(("allowed", "valid"), [(1, False), (2, True), ("33 %", False), ("34 %", True)])
def test_the_experiment_says_how_many_operations_may_be_missed(allowed: object, valid: bool) -> None:
    coordinator = allowing(5, operations_missed=allowed)
    found = reasons(coordinator, operations_missed=1)
    assert (not found) is valid
    if not valid:
        assert "fidelity.operations_missed is" in found and "2 operations" in found


def test_one_restarted_pod_of_three_thousand_can_be_allowed() -> None:
    runtime = {"kind": "kubernetes", "hosts": 3000}
    coordinator = Coordinator(
        spec_of(3000, runtime=runtime, fidelity={"hosts_restarted": 1}), plan_of(3000), "experiment", "trial"
    )
    hosts = list(coordinator.members)
    for host in hosts:
        register(coordinator, host, address=host)
        coordinator.ready(control_pb2.Ready(host=host), SECOND)
    for name, at in (("host-7", 63), ("host-8", 64)):
        register(coordinator, name, start="second", address="elsewhere", at=at * SECOND)
        for host in hosts:
            coordinator.finish(result(host), 72 * SECOND)
        fidelity = judge(coordinator, VERSIONS)
        assert fidelity.valid is (name == "host-7")
    assert "hosts restarted: 2 hosts, limit 1 hosts" in fidelity.reasons[0]
    assert "fidelity.hosts_restarted is 1" in fidelity.reasons[0]


def test_another_version_invalidates(coordinator: Coordinator) -> None:
    begin(coordinator)
    coordinator.members["host-0"].versions = {"trellis": "2"}
    assert "hosts of another version: 1" in reasons(coordinator)


def probed(coordinator: Coordinator, late_ns: int, offset_end_ns: int) -> float:
    probe = control_pb2.Probe(
        sending_host=0, sent_ns=10 * SECOND, due_ns=10 * SECOND + 5, received_ns=10 * SECOND + 5 + late_ns
    )
    coordinator.finish(result("host-0"), SECOND)
    coordinator.finish(result("host-1", probes=[probe], clock_offset_ns=offset_end_ns), SECOND)
    return judge(coordinator, VERSIONS).measured["delay_error_max_ms"]


def test_the_delay_error_of_probes_is_measured(coordinator: Coordinator) -> None:
    begin(coordinator)
    assert probed(coordinator, 30_000_000, 0) == pytest.approx(30)


@pytest.mark.parametrize(("time_scale", "lateness_ms"), [(10.0, 30), (1.0, 300), (0.1, 3000)])
def test_limits_are_in_trial_time(time_scale: float, lateness_ms: float) -> None:
    runtime = {"kind": "processes", "hosts": 2, "time_scale": time_scale}
    coordinator = Coordinator(spec_of(5, runtime=runtime), plan_of(5), "experiment", "trial")
    begin(coordinator)
    late = control_pb2.Distribution(buckets=[700], counts=[1], maximum_s=0.3)
    invalid = "timer lateness" in reasons(coordinator, timer_lateness=late)
    assert invalid is (time_scale < 10)
    fidelity = judge(coordinator, VERSIONS)
    assert fidelity.measured["timer_lateness_max_ms"] == pytest.approx(lateness_ms)


def test_a_clock_that_drifts_is_no_delay(coordinator: Coordinator) -> None:
    begin(coordinator)
    assert probed(coordinator, 30_000_000, 30_000_000) == pytest.approx(0, abs=0.001)


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


def test_a_stopped_host_is_named_and_the_machine_is_not_called_slow(coordinator: Coordinator) -> None:
    begin(coordinator)
    coordinator.finish(result("host-0", loop_stall_s=5.0), 10 * SECOND)
    coordinator.finish(result("host-1", loop_stall_s=5.0, error=f"it {WORD} and went on later"), 10 * SECOND)
    told = "; ".join(judge(coordinator, VERSIONS).reasons)
    assert "event-loop stall, longest: 5000 ms, limit 1000 ms (host-1 was stopped by a signal)" in told
    assert "too slow" not in told


def test_a_process_that_is_stopped_is_seen_and_one_that_went_on_knows_it() -> None:
    program = (
        "import sys, time; from emulator.fleet import stops; stops.watch(); print('up', flush=True)\n"
        "while not stops.continued(): time.sleep(0.01)\n"
        "print(stops.continued())"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        assert not is_stopped(process.pid)
        process.send_signal(signal.SIGSTOP)
        deadline = time.monotonic() + 20
        while not is_stopped(process.pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert is_stopped(process.pid)
        process.send_signal(signal.SIGCONT)
        assert process.stdout.read() == "1\n"
    assert not is_stopped(process.pid)
