"""The coordinator's decisions, without a network."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trellis.v1 import control_pb2

from emulator.experiment.plan import LOOKUPS, PEERS, PUBLICATIONS, SESSIONS, SUBSCRIPTIONS, Plan
from emulator.experiment.spec import TrialSpec
from emulator.fleet.control import clock_exchange
from emulator.fleet.coordinator import ControlError, Coordinator, decode_table
from emulator.fleet.verdict import judge
from emulator.runtime.tracker import CONTACTS

SECOND = 10**9
VERSIONS = {"trellis": "1"}


def plan_of(peers: int) -> Plan:
    rows = range(peers)
    return Plan(
        pa.table([[*rows], [0] * peers], schema=PEERS),
        pa.table(
            [[*rows], [0] * peers, [0.0] * peers, [10.0] * peers, [False] * peers, ["base"] * peers],
            schema=SESSIONS,
        ),
        pa.table(
            [
                [*rows],
                [*rows],
                [7] * peers,
                [1.0] * peers,
                [None] * peers,
                [0.0] * peers,
                [10.0] * peers,
            ],
            schema=SUBSCRIPTIONS,
        ),
        pa.table([[0], [5.0], [peers - 1], [7], [None], [10]], schema=PUBLICATIONS),
        pa.table([[*rows], [5.0] * peers, [*rows], [bytes(16)] * peers], schema=LOOKUPS),
    )


def spec_of(peers: int, **fields: object) -> TrialSpec:
    return TrialSpec.model_validate(
        {
            "system": {"name": "vitis"},
            "peers": peers,
            "workload": {"subscriptions": {"kind": "random"}},
            "phases": {"join": "2 s", "settle": "2 s", "measure": "4 s", "drain": "2 s"},
            "runtime": {"kind": "processes", "hosts": 2},
        }
        | fields
    )


@pytest.fixture
def coordinator() -> Coordinator:
    return Coordinator(spec_of(5), plan_of(5), "experiment", "trial")


def register(coordinator: Coordinator, host: str) -> control_pb2.Assignment:
    registration = control_pb2.Registration(host=host, address=f"127.0.0.1:{host[-1]}", versions=VERSIONS)
    return coordinator.register(registration, SECOND)


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
        own = decode_table(assignment.sessions)["peer"].to_pylist()
        assert own == [p for p in range(5) if assignment.host_of_peer[p] == index]
        assert decode_table(assignment.subscriptions)["peer"].to_pylist() == own
        assert decode_table(assignment.lookups)["peer"].to_pylist() == own
        assert decode_table(assignment.peers).num_rows == 5
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


def test_an_unknown_host_is_refused(coordinator: Coordinator) -> None:
    with pytest.raises(ControlError, match="host-9"):
        register(coordinator, "host-9")


def test_a_host_that_comes_back_is_refused_and_the_trial_invalid(coordinator: Coordinator) -> None:
    begin(coordinator)
    with pytest.raises(ControlError, match="registered before"):
        register(coordinator, "host-1")
    assert "hosts restarted" in reasons(coordinator)


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
        ({"operations_missed": 1}, "operations missed"),
        ({"error": "telemetry cannot be written: disk full"}, "disk full"),
    ],
)
def test_each_limit_invalidates(coordinator: Coordinator, fields: dict[str, object], reason: str) -> None:
    begin(coordinator)
    assert reason in reasons(coordinator, **fields)


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
